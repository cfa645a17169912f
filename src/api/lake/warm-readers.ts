import { LakeError, UsageError } from "../../core/errors.js";
import { type Checkout, KeyedPool } from "../../core/keyed-pool.js";
import type { SessionOptions } from "../../db/session/open-database.js";
import { hasTables, type Lake, type PointInTime } from "../../lake/lake.js";
import { readableTables } from "../../lake/lake-views.js";
import { rejectsSql } from "../../lake/land/rejects.js";
import { openReader, type Reader } from "../../lake/open-reader.js";
import type { SegmentPlace } from "../../lake/segments/segment-folder.js";
import { TABLES } from "../../schema/tables.js";
import { epochMsOf, knownAtOf, type TimeInput } from "../inputs.js";

/** The state of a lake that is read. @default the newest version of each table at the time of the call */
export interface LakeState {
  /** What was committed by then: epoch milliseconds, a Date, or ISO text; a text without zone is UTC. */
  readonly asOf?: TimeInput | undefined;
  /** Versions of single tables, by name; they take precedence over `asOf`. */
  readonly versions?: Readonly<Record<string, number>> | ReadonlyMap<string, number> | undefined;
  /**
   * Shows of these rows what was known then: an instant as for `asOf`, or a date without a time, which is the end of that
   * trading date in each region. docs/known-at.md has the rule of each table. @default everything
   */
  readonly knownAt?: TimeInput | undefined;
  /**
   * With `knownAt`: whether the first version of instruments and universes counts as known before the lake first saw it.
   * @default false
   */
  readonly assumeReference?: boolean | undefined;
}

export const LAKE_STATE = {
  asOf: true,
  versions: true,
  knownAt: true,
  assumeReference: true,
} satisfies Record<keyof LakeState, true>;

/** The options as a state of the lake. @throws {UsageError} for an invalid time, an unknown table, or a version that is not an integer. */
export function pointInTimeOf({ asOf, versions = {}, knownAt, assumeReference }: LakeState): PointInTime {
  const entries = [...(versions instanceof Map ? versions : Object.entries(versions))] as [string, number][];
  const names = TABLES.map(({ name }) => name);
  for (const [name, version] of entries) {
    if (!names.includes(name))
      throw new UsageError(`versions: there is no table ${JSON.stringify(name)}`, {
        hint: `tables: ${names.join(", ")}`,
      });
    if (!Number.isInteger(version) || version < 0)
      throw new UsageError(`versions.${name}: ${version} is not a whole number from 0`);
  }
  if (assumeReference === true && knownAt === undefined)
    throw new UsageError("assumeReference needs knownAt", { hint: "give the time, or leave it out" });
  return {
    ...(asOf !== undefined && { asOf: epochMsOf("asOf", asOf) }),
    ...(entries.length > 0 && { versions: new Map(entries) }),
    ...(knownAt !== undefined && { knownAt: knownAtOf("knownAt", knownAt) }),
    ...(assumeReference === true && { assumesReference: true }),
  };
}

/** Whether every table is read at its newest version, with all its rows. */
function isNewest({ asOf, versions, knownAt }: PointInTime): boolean {
  return asOf === undefined && versions === undefined && knownAt === undefined;
}

/** A text that differs for each point in time. */
export function stateKey({ asOf, versions, knownAt, assumesReference }: PointInTime): string {
  return JSON.stringify([asOf, [...(versions ?? [])], knownAt, assumesReference]);
}

/** Most readers that remain open: each has a database and the footers of the files that it read. */
const MOST_OPEN = 4;
/** Most whole results that are computed at once; further ones wait. */
const MOST_AT_ONCE = 2;

/** How the readers are opened. */
export interface WarmReaderOptions extends Pick<SessionOptions, "memoryLimit" | "threads"> {
  readonly verify?: boolean | undefined;
  /** Where this machine has copies for SQL. @default nowhere */
  readonly copies?: SegmentPlace | undefined;
}

/**
 * Open readers of a lake that are used again, because the views take longer to create than a short query. A query gets
 * a reader of the state of the lake at its call: where another process has committed since, a new one.
 *
 * Each query has a reader to itself: a session takes one statement at a time, and the files that it reads are verified
 * with it.
 */
export class WarmReaders implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #options: WarmReaderOptions;
  /** By the state of the lake that the views of a reader show. */
  readonly #pool = new KeyedPool<Reader>({
    atOnce: MOST_AT_ONCE,
    mostOpen: MOST_OPEN,
    close: (reader) => reader[Symbol.dispose](),
    isUsable: ({ session }) => !session.isBroken,
  });
  /** Whole results that are computed, or wait for it. */
  readonly #results = new Set<Promise<unknown>>();
  /** Open streams; they may never be read to their end. */
  readonly #streams = new Set<Checkout<Reader>>();
  #isClosed = false;

  constructor(lake: Lake, options: WarmReaderOptions) {
    this.#lake = lake;
    this.#options = options;
  }

  /**
   * Runs `use` with a reader; waits while many others run.
   *
   * @param signal ends the wait, with its reason.
   * @param without returns the result if it needs no reader. @default a reader is always needed
   */
  async use<T>(
    pointInTime: PointInTime,
    signal: AbortSignal | undefined,
    use: (checkout: Checkout<Reader>) => Promise<T>,
    without?: () => Promise<T | undefined>,
  ): Promise<T> {
    this.expectOpen();
    const inTurn = async (): Promise<T> => {
      using _ = await this.#pool.turn(signal);
      using checkout = await this.#take(pointInTime);
      return await use(checkout);
    };
    const result = without === undefined ? inTurn() : without().then((found) => found ?? inTurn());
    this.#results.add(result);
    try {
      return await result;
    } finally {
      this.#results.delete(result);
    }
  }

  /**
   * Lends a reader for a stream until it is disposed, or until all are closed. It never waits for others, so a loop
   * over one query may run another.
   */
  async lend(pointInTime: PointInTime): Promise<Checkout<Reader>> {
    this.expectOpen();
    const stream = await this.#take(pointInTime);
    this.#streams.add(stream);
    if (this.#isClosed) this.#endStream(stream);
    return { ...stream, [Symbol.dispose]: () => this.#endStream(stream) };
  }

  /** Waits for whole results that were requested, ends streams, and closes the readers. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const stream of this.#streams) this.#endStream(stream);
    await Promise.allSettled(this.#results);
    await this.#pool.close();
  }

  /** Closes those of the readers without a query for which `isOutdated` returns true. */
  drop(isOutdated: (reader: Reader) => boolean): void {
    this.#pool.drop(isOutdated);
  }

  /** @throws {LakeError} where the readers are closed. */
  expectOpen(): void {
    if (this.#isClosed)
      throw new LakeError(`lake ${this.#lake.location}: it was closed`, {
        hint: "open it again with openLake",
      });
  }

  async #take(pointInTime: PointInTime): Promise<Checkout<Reader>> {
    const state = await this.#stateOf(pointInTime);
    this.drop(({ copies }) => copies.some((copy) => !copy.isSame()));
    return this.#pool.take(state, () => this.#open(pointInTime));
  }

  /** @throws {UsageError} where the lake has no table: its folder is missing, empty or mistyped. */
  async #open(pointInTime: PointInTime): Promise<Reader> {
    if (!(await hasTables(this.#lake)))
      throw new UsageError(`lake ${this.#lake.location}: there is no table in it`, {
        hint: "check the path; run, barlake import and barlake demo fill a lake",
      });
    const { verify = true, ...session } = this.#options;
    return openReader(this.#lake, { ...session, verify }, pointInTime);
  }

  /** A text that differs where views would show something else. */
  async #stateOf(pointInTime: PointInTime): Promise<string> {
    const { asOf } = pointInTime;
    const isPast = asOf !== undefined && asOf < this.#lake.clock.now();
    const pinned = `${stateKey(pointInTime)} ${this.#lake.replacements}`;
    if (isPast) return pinned;
    const { snapshots, refused } = await readableTables(this.#lake, pointInTime);
    return [
      isNewest(pointInTime) ? "" : pinned,
      ...snapshots.map(({ table, commitId }) => `${table.name} ${commitId}`),
      ...refused.map(({ table, error }) => `${table.name}: ${error.message}`),
      await rejectsSql(this.#lake),
    ].join("\n");
  }

  #endStream(stream: Checkout<Reader>): void {
    if (!this.#streams.delete(stream)) return;
    // What runs now would otherwise be waited for.
    if (this.#isClosed) {
      stream.value.session.interrupt();
      stream.discard();
    }
    stream[Symbol.dispose]();
  }
}
