import { LakeError } from "../../core/errors.js";
import type { SessionOptions } from "../../db/session/session-options.js";
import type { Lake, PointInTime } from "../../lake/lake.js";
import { readableTables } from "../../lake/lake-views.js";
import { rejectsSql } from "../../lake/land/rejects.js";
import { openReader, type Reader } from "../../lake/publish.js";
import { isNewest } from "./point-in-time.js";

/** Most readers without a query that stay open: each has a database and the footers of the files that it read. */
const MOST_IDLE = 4;
/** Most whole results that are computed at once; further ones wait. */
const MOST_AT_ONCE = 2;

/** How the readers are opened. */
export interface WarmReaderOptions extends Pick<SessionOptions, "memoryLimit" | "threads"> {
  readonly verify?: boolean | undefined;
}

/** A reader that one query uses. */
export interface LentReader extends Disposable {
  readonly reader: Reader;
}

interface WarmReader {
  readonly reader: Reader;
  /** The state of the lake that its views show. */
  readonly state: string;
}

/**
 * Open readers of a lake that are used again, because the views take longer to create than a short query. A query gets
 * a reader of the state of the lake at its call: where another process has committed since, a new one.
 *
 * Each query has a reader alone: a session takes one statement at a time, and the files that it reads are verified
 * with it.
 */
export class WarmReaders implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #options: WarmReaderOptions;
  /** The least recently used first. */
  #idle: WarmReader[] = [];
  #lent = 0;
  /** Resolve the calls of the disposal. */
  readonly #closing: (() => void)[] = [];
  #running = 0;
  readonly #waiting: (() => void)[] = [];
  #isClosed = false;

  constructor(lake: Lake, options: WarmReaderOptions) {
    this.#lake = lake;
    this.#options = options;
  }

  /** Runs `use` with a reader; waits while many others run. */
  async use<T>(pointInTime: PointInTime, use: (reader: Reader) => Promise<T>): Promise<T> {
    if (this.#running >= MOST_AT_ONCE) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      using lent = await this.lend(pointInTime);
      return await use(lent.reader);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  /** Lends a reader until it is disposed. It never waits for others, so a loop over one query may run another. */
  async lend(pointInTime: PointInTime): Promise<LentReader> {
    this.#expectOpen();
    const state = await this.#stateOf(pointInTime);
    const at = this.#idle.findIndex((one) => one.state === state);
    const [known] = at < 0 ? [] : this.#idle.splice(at, 1);
    const warm = known ?? { reader: await this.#open(pointInTime), state };
    this.#lent += 1;
    return { reader: warm.reader, [Symbol.dispose]: () => this.#giveBack(warm) };
  }

  /** Closes the idle readers, and waits until the others are given back. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const { reader } of this.#idle.splice(0)) reader[Symbol.dispose]();
    if (this.#lent > 0) await new Promise<void>((resolve) => this.#closing.push(resolve));
  }

  #open(pointInTime: PointInTime): Promise<Reader> {
    const { verify = true, ...session } = this.#options;
    return openReader(this.#lake, { ...session, verify }, pointInTime);
  }

  /** A text that differs where views would show something else. */
  async #stateOf(pointInTime: PointInTime): Promise<string> {
    const { asOf, versions } = pointInTime;
    const isPast = asOf !== undefined && asOf < this.#lake.clock.now();
    const pinned = JSON.stringify([asOf, [...(versions ?? [])]]);
    if (isPast) return pinned;
    const { snapshots, refused } = await readableTables(this.#lake, pointInTime);
    return [
      isNewest(pointInTime) ? "" : pinned,
      ...snapshots.map(({ table, version }) => `${table.name} ${version}`),
      ...refused.map(({ table, error }) => `${table.name}: ${error.message}`),
      await rejectsSql(this.#lake),
    ].join("\n");
  }

  #giveBack(warm: WarmReader): void {
    this.#lent -= 1;
    if (this.#isClosed) warm.reader[Symbol.dispose]();
    else this.#idle.push(warm);
    while (this.#idle.length > MOST_IDLE) this.#idle.shift()?.reader[Symbol.dispose]();
    if (this.#lent === 0) for (const resolve of this.#closing.splice(0)) resolve();
  }

  #expectOpen(): void {
    if (this.#isClosed)
      throw new LakeError(`lake ${this.#lake.location}: it was closed`, {
        hint: "open it again with openLake",
      });
  }
}
