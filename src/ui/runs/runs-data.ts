/* The JSON of the view Runs. Times are epoch milliseconds. */
import type { RejectCount, RequestCount } from "../../jobs/run/report/run-counts.js";
import type { Progress } from "../../jobs/run/report/run-progress.js";
import type { ScheduleRule } from "../../plan/due-times.js";
import type { RequestStatus, RunStatus } from "../../schema/runs.js";
import type { FaultReport, RunReport } from "../page-data.js";

/** A pipeline, when it runs, and how its last run ended. */
export interface PipelineReport {
  readonly name: string;
  readonly doc: string;
  /** Kind of data, and the period of bars. */
  readonly kind: string;
  readonly schedule: readonly ScheduleRule[];
  /** When it is due next; null where it is never due. */
  readonly next: number | null;
  /** The name of the schedule that leads it; null where no schedule does. */
  readonly leader: string | null;
  readonly last: RunReport | null;
  /** Why its file cannot be used; null where it can be used. */
  readonly fault: FaultReport | null;
}

export type RunRight =
  | { readonly kind: "ready"; readonly host: string }
  | { readonly kind: "absent"; readonly message: string; readonly hint: string };

export interface PipelinesReport {
  readonly pipelines: readonly PipelineReport[];
  readonly right: RunRight;
}

/** The requests of a pipeline that the lake does not have yet. */
export interface PlanReport {
  /** Null where the requests depend on responses of the service. */
  readonly requests: number | null;
  readonly regions: readonly {
    readonly region: string;
    readonly requests: number;
    readonly symbols: number;
    readonly bars: number;
  }[];
  /** Requests per minute that the key permits; null where this is not known yet. */
  readonly requestsPerMinute: number | null;
  readonly minutes: number | null;
}

export interface StartedReport extends Omit<Progress, "quota"> {
  readonly pipeline: string;
  readonly startedAt: number;
  readonly isStopping: boolean;
  readonly quota: {
    readonly used: number;
    readonly limit: number | null;
    readonly waitingUntil: number | null;
  } | null;
  /** How the run ended; null while it is in progress. */
  readonly ended: {
    readonly status: RunStatus;
    readonly runId: string | null;
    readonly stopped: string | null;
    /** The first reasons why requests were refused or failed. */
    readonly reasons: readonly string[];
    readonly finishedAt: number;
  } | null;
}

export interface OtherRunReport {
  readonly runId: string;
  readonly pipeline: string;
  readonly startedAt: number | null;
  /** The process that runs it; null where there is no sign of life, and only its landed requests are known. */
  readonly owner: string | null;
  readonly asks: readonly string[];
  /** Number of requests whose responses have landed so far. */
  readonly requests: number;
  readonly failed: number;
  readonly rows: number;
  readonly bytes: number;
  readonly lastAskedAt: number | null;
}

/** The runs in progress, and those of this workspace that have ended. */
export interface LiveReport {
  readonly started: readonly StartedReport[];
  readonly others: readonly OtherRunReport[];
  readonly now: number;
}

export interface TableChange {
  readonly table: string;
  /** Version before the first commit of the run, and after its last; -1 where the table did not exist. */
  readonly before: number;
  readonly after: number;
  readonly inserted: number;
  readonly updated: number;
  readonly filesAdded: number;
  readonly filesRemoved: number;
  readonly bytesAdded: number;
}

export interface RunDetailsReport {
  readonly run: RunReport & {
    readonly planned: number;
    readonly unchanged: number;
    readonly host: string;
    readonly engine: string;
    /** JSON text, or the beginning of it. */
    readonly options: string;
  };
  readonly requests: readonly RequestCount[];
  readonly failures: readonly {
    readonly status: RequestStatus;
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
