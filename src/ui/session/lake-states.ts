import { createHash } from "node:crypto";
import { BarlakeError, UsageError } from "../../core/errors.js";
import type { Known } from "../../db/market/known-sql.js";
import { hasTables, type Lake, type PointInTime } from "../../lake/lake.js";
import { type RefusedTable, readableTables } from "../../lake/lake-views.js";
import type { Snapshot } from "../../lake/log/snapshot.js";

/** One version of each table, which a page shows until it requests another state. */
export interface LakeState {
  /** Identifies the state: the same versions have the same id. */
  readonly id: string;
  /** Reads exactly these versions, even if newer ones are committed. */
  readonly pointInTime: PointInTime;
  readonly snapshots: readonly Snapshot[];
  readonly refused: readonly RefusedTable[];
  /** What was known then is shown; undefined: everything. */
  readonly known: Known | undefined;
  /** The instant that was requested last for this state, in epoch milliseconds; undefined for the newest versions. */
  readonly asOf: number | undefined;
}

/** Most states that pages can name. A page that names an older one must request a new one. */
const MOST_STATES = 50;

export class LakeStates {
  readonly #lake: Lake;
  /** States by id, the least recently used first. */
  readonly #known = new Map<string, LakeState>();
  #hadTables = false;

  constructor(lake: Lake) {
    this.#lake = lake;
  }

  /** The newest version of each table. @throws {BarlakeError} where the lake had tables, and has none any more. */
  async newest(known?: Known): Promise<LakeState> {
    const state = await this.#read(undefined, known);
    const isReadable = state.snapshots.some(({ version }) => version >= 0);
    if (this.#hadTables && !isReadable && !(await hasTables(this.#lake)))
      throw new BarlakeError(`lake ${this.#lake.location}: its tables are gone`, {
        hint: "it was moved or deleted, or its disk is not there; once it is back, the page goes on",
      });
    this.#hadTables ||= isReadable;
    return state;
  }

  /** The versions at an instant (epoch milliseconds). @throws {LakeError} where their files were deleted */
  at(asOf: number, known?: Known): Promise<LakeState> {
    return this.#read(asOf, known);
  }

  get last(): LakeState | undefined {
    return [...this.#known.values()].at(-1);
  }

  /** A state by its id. @throws {UsageError} where this process has not made the state, or has dropped it. */
  of(id: string): LakeState {
    const state = this.#known.get(id);
    if (state === undefined)
      throw new UsageError("this version of the lake is no longer open", { hint: "reload the page" });
    this.#remember(state);
    return state;
  }

  async #read(asOf: number | undefined, known: Known | undefined): Promise<LakeState> {
    const now = this.#lake.clock.now();
    const { snapshots, refused } = await readableTables(this.#lake, { asOf });
    const id = idOf(snapshots, refused, asOf, known);
    const before = this.#known.get(id);
    // Several instants can have the same versions. They are one state, whose instant is that of the newest request.
    const state =
      before === undefined
        ? {
            id,
            pointInTime: { ...pinned(snapshots, asOf ?? now), ...known },
            snapshots,
            refused,
            known,
            asOf,
          }
        : { ...before, asOf };
    this.#remember(state);
    return state;
  }

  #remember(state: LakeState): void {
    this.#known.delete(state.id);
    this.#known.set(state.id, state);
    for (const id of [...this.#known.keys()].slice(0, -MOST_STATES)) this.#known.delete(id);
  }
}

/** A point in time with exactly the versions of the snapshots. Tables without a commit remain empty. */
export function pinned(snapshots: readonly Snapshot[], asOf: number): PointInTime {
  const existing = snapshots.filter(({ version }) => version >= 0);
  return {
    asOf,
    versions: new Map(existing.map(({ table, version }) => [table.name, version])),
    commits: new Map(existing.map(({ table, commitId }) => [table.name, commitId])),
  };
}

function idOf(
  snapshots: readonly Snapshot[],
  refused: readonly RefusedTable[],
  asOf: number | undefined,
  known: Known | undefined,
): string {
  const hash = createHash("sha256").update(asOf === undefined ? "newest" : "past");
  for (const { table, commitId } of snapshots) hash.update(`\n${table.name} ${commitId}`);
  for (const { table, error } of refused) hash.update(`\n${table.name}: ${error.message}`);
  if (known !== undefined) hash.update(`\n${JSON.stringify(known)}`);
  return hash.digest("hex").slice(0, 16);
}
