/*
 * What the view Runs receives as JSON: types alone, shared by the server and the page. Times are epoch milliseconds.
 */
import type { RejectCount, RequestCount } from "../../jobs/run/report/run-counts.js";
import type { ScheduleRule } from "../../plan/due-times.js";
import type { RunStatus } from "../../schema/runs.js";
import type { FaultReport, RunReport } from "../page-data.js";

/** A pipeline, when it runs, and how its last run ended. */
export interface PipelineReport {
  readonly name: string;
  readonly doc: string;
  /** Kind of data, with the period of bars. */
  readonly kind: string;
  readonly schedule: readonly ScheduleRule[];
  /** When it is due next; null where it never is. */
  readonly next: number | null;
  /** The schedule that leads it, a process of some machine; null where none does. */
  readonly leader: string | null;
  readonly last: RunReport | null;
  /** Why its file cannot be used; null where it can. */
  readonly fault: FaultReport | null;
}

/** Whether pipelines can be run from the page. */
export type RunRight =
  | { readonly kind: "ready"; readonly host: string }
  | { readonly kind: "absent"; readonly message: string; readonly hint: string };

export interface PipelinesReport {
  readonly pipelines: readonly PipelineReport[];
  readonly right: RunRight;
}

/** The requests of a pipeline that the lake does not have yet. */
export interface PlanReport {
  /** Null where the requests follow from the service's responses. */
  readonly requests: number | null;
  readonly regions: readonly {
    readonly region: string;
    readonly requests: number;
    readonly symbols: number;
    /** At most. */
    readonly bars: number;
  }[];
  /** Requests a minute of the key; null where they are not known yet. */
  readonly requestsPerMinute: number | null;
  readonly minutes: number | null;
}

/** A run that this workspace has started. */
export interface StartedReport {
  readonly pipeline: string;
  readonly startedAt: number;
  readonly isStopping: boolean;
  readonly doing: string;
  readonly requestsDone: number;
  readonly requestsTotal: number;
  readonly rows: number;
  readonly bytes: number;
  readonly tables: readonly {
    readonly table: string;
    readonly requestsDone: number;
    readonly requestsTotal: number;
    readonly rows: number;
  }[];
  /** Requests of the last minute, and how many a minute the key permits. */
  readonly quota: {
    readonly used: number;
    readonly limit: number | null;
    readonly waitingUntil: number | null;
  } | null;
  /** How it ended; null while it goes on. */
  readonly ended: {
    readonly status: RunStatus;
    readonly runId: string | null;
    readonly stopped: string | null;
    readonly finishedAt: number;
  } | null;
}

/** A run of another process, as far as it is in the lake. */
export interface OtherRunReport {
  readonly runId: string;
  /** Null until a response has landed. */
  readonly pipeline: string | null;
  readonly startedAt: number | null;
  /** The process, where it shows a sign of life; null: only its landed requests are known. */
  readonly owner: string | null;
  /** Requests without a landed response, and the tables that they are for. */
  readonly inFlight: number;
  readonly datasets: readonly string[];
  /** What has landed so far. */
  readonly requests: number;
  readonly failed: number;
  readonly rows: number;
  readonly bytes: number;
  readonly lastAskedAt: number | null;
}

/** The runs that go on, and those of this workspace that have ended. */
export interface LiveReport {
  readonly started: readonly StartedReport[];
  readonly others: readonly OtherRunReport[];
  readonly now: number;
}

/** What a run has changed in a table. */
export interface TableChange {
  readonly table: string;
  /** Version before its first commit, and after its last; -1 where there was no table. */
  readonly before: number;
  readonly after: number;
  readonly inserted: number;
  readonly updated: number;
  readonly filesAdded: number;
  readonly filesRemoved: number;
  readonly bytesAdded: number;
}

/** Everything about one run. */
export interface RunDetailsReport {
  readonly run: RunReport & {
    readonly planned: number;
    readonly unchanged: number;
    readonly host: string;
    readonly engine: string;
    /** JSON text, or its beginning. */
    readonly options: string;
  };
  readonly requests: readonly RequestCount[];
  readonly failures: readonly {
    readonly status: string;
    readonly httpStatus: number | null;
    readonly reason: string;
    readonly requests: number;
    readonly symbols: number;
  }[];
  readonly windows: readonly {
    readonly dataset: string;
    readonly start: number;
    readonly end: number;
    readonly symbols: number;
  }[];
  readonly absent: readonly {
    readonly dataset: string;
    readonly symbols: number;
    readonly examples: readonly string[];
  }[];
  readonly rejects: readonly RejectCount[];
  readonly changes: readonly TableChange[];
  /** A command that shows the same in the terminal. */
  readonly command: string;
}
