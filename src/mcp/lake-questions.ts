import type { DatasetPlan } from "../dataset/plan-dataset.js";
import type { DatasetSpec } from "../dataset/spec.js";
import type { Catalog } from "../db/catalog.js";
import { readCatalog } from "../db/read-catalog.js";
import type { QueryValues } from "../db/session/named-values.js";
import type { Lake, PointInTime } from "../lake/lake.js";
import { readableTables } from "../lake/lake-views.js";
import type { QueryAnswer, ShownLake } from "../ui/process/jobs.js";
import { QueryProcesses } from "../ui/process/query-processes.js";
import { pinned } from "../ui/session/lake-states.js";
import { openLocked } from "../ui/session/open-locked.js";
import { type SessionLimits, sessionLimits } from "../ui/session/session-limits.js";

export interface AnswerClock {
  /** The versions are the newest that were committed by then, ISO 8601; null: the newest. */
  readonly asOf: string | null;
  /** Only what was known by then is seen, ISO 8601 or a trading date; null: everything. */
  readonly knownAt: string | null;
  /** Whether the first version of instruments and universes counts as known before the lake saw it. */
  readonly assumesReference: boolean;
  /** The version of each table that has one. */
  readonly versions: Readonly<Record<string, number>>;
}

/** A state of the lake: the answers of one call are all of it. */
export interface LakeMoment {
  readonly shown: ShownLake;
  readonly clock: AnswerClock;
}

/** Most rows of an answer. */
export const MOST_ROWS = 1000;
/** Most bytes of the columns and rows of an answer: with what is around them, at most 64 KB are sent. */
const MOST_BYTES = 56 * 1024;
/** Milliseconds after which a statement is ended. */
const TIME_LIMIT_MS = 30_000;

/**
 * Asks a lake at the server's point in time, which no question can move. Every statement runs in a process of its own
 * (`ui/process`), over the views alone (`ui/session/lake-only`).
 */
export class LakeQuestions implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #pointInTime: PointInTime;
  readonly #limits: SessionLimits;
  readonly #processes: QueryProcesses;
  #catalog: { readonly key: string; readonly read: Promise<Catalog> } | undefined;

  constructor(lake: Lake, pointInTime: PointInTime, limits: SessionLimits = {}) {
    this.#lake = lake;
    this.#pointInTime = pointInTime;
    this.#limits = { timeLimitMs: TIME_LIMIT_MS, ...limits };
    this.#processes = new QueryProcesses(lake, lake.clock, this.#limits);
  }

  /** The state that the lake has now, at the server's point in time. */
  async moment(): Promise<LakeMoment> {
    const given = this.#pointInTime;
    const { snapshots } = await readableTables(this.#lake, given);
    const fixed = pinned(snapshots, given.asOf ?? this.#lake.clock.now());
    return {
      shown: {
        location: this.#lake.location,
        views: this.#lake.userViews?.folder,
        pointInTime: { ...given, ...fixed },
      },
      clock: {
        asOf: instantText(given.asOf),
        knownAt: instantText(given.knownAt),
        assumesReference: given.assumesReference ?? false,
        versions: Object.fromEntries(fixed.versions ?? []),
      },
    };
  }

  /** The first rows of one SELECT. @throws {QueryError} */
  async ask(
    { shown }: LakeMoment,
    sql: string,
    values: QueryValues,
    signal: AbortSignal,
    mostRows = MOST_ROWS,
  ): Promise<QueryAnswer> {
    const job = { kind: "query", lake: shown, sql, values, mostRows, mostBytes: MOST_BYTES } as const;
    return JSON.parse(await this.#perform(job, signal)) as QueryAnswer;
  }

  async plan({ shown }: LakeMoment, spec: DatasetSpec, signal: AbortSignal): Promise<DatasetPlan> {
    return JSON.parse(await this.#perform({ kind: "plan", lake: shown, spec }, signal)) as DatasetPlan;
  }

  /** The views and macros of a state. It is read again only when the tables have changed. */
  catalog({ shown: { pointInTime } }: LakeMoment): Promise<Catalog> {
    const key = JSON.stringify([...(pointInTime.commits ?? [])]);
    if (this.#catalog?.key !== key) {
      const read = this.#readCatalog(pointInTime);
      this.#catalog = { key, read };
      read.catch(() => {
        this.#catalog = undefined;
      });
    }
    return this.#catalog.read;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#processes[Symbol.asyncDispose]();
  }

  async #readCatalog(pointInTime: PointInTime): Promise<Catalog> {
    using reader = await openLocked(this.#lake, sessionLimits(this.#limits), pointInTime);
    return await readCatalog(reader.session);
  }

  async #perform(job: Parameters<QueryProcesses["perform"]>[0], signal: AbortSignal): Promise<string> {
    let text = "";
    await this.#processes.perform(job, { signal }, { piece: async (piece) => void (text += piece) });
    return text;
  }
}

function instantText(at: number | string | undefined): string | null {
  return typeof at === "number" ? new Date(at).toISOString() : (at ?? null);
}
