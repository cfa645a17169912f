import type { ServiceClient } from "../../client/service-client.js";
import { UsageError } from "../../core/errors.js";
import { releaseAfter } from "../../core/release-after.js";
import type { Clock } from "../../core/time.js";
import type { Pipeline } from "../../jobs/pipeline/definition.js";
import { type RunOutcome, settleRun } from "../../jobs/run/report/run-history.js";
import type { Progress } from "../../jobs/run/report/run-progress.js";
import { type RunReport, runPipeline } from "../../jobs/run/run-pipeline.js";
import type { Lake } from "../../lake/lake.js";
import type { LimitsStore, ServiceLimits } from "../../lake/requests/service-limits.js";
import type { StartedReport } from "./runs-data.js";

interface RunService {
  readonly client: ServiceClient;
  readonly limits: LimitsStore;
  /** Aborts, with the reason, when the key was given to another process. */
  readonly lost: AbortSignal;
  close(): Promise<void>;
}

/** Where runs of the page get their key, which is not contained here: from the process that started the workspace. */
export type RunPlace =
  | {
      readonly kind: "ready";
      /** Host of the service, with its port. */
      readonly host: string;
      open(pipeline: Pipeline): Promise<RunService>;
      /** The known limits of the service and the key, for plans. */
      limits(): Promise<ServiceLimits>;
      /** Requests per minute of K-lines, as given by the user; undefined: the learned number is used. */
      readonly requestsPerMinute: number | undefined;
    }
  | { readonly kind: "absent"; readonly message: string; readonly hint: string };

export const NO_RUN_PLACE: RunPlace = {
  kind: "absent",
  message: "this workspace was started without a key",
  hint: "set BARLAKE_URL and BARLAKE_API_KEY, in the environment or in .env, and start barlake ui again",
};

interface Started {
  readonly pipeline: string;
  readonly startedAt: number;
  readonly stop: AbortController;
  progress: Progress | undefined;
  outcome: RunOutcome | undefined;
  done: Promise<void>;
}

/** Most reasons of failures in the report of a run: the run's own page has all of them. */
const MOST_REASONS = 3;

/**
 * Runs that were started from the page, at most one of each pipeline at a time. As for every run, the leases of the
 * lake and of the key exclude runs of other processes.
 */
export class StartedRuns implements AsyncDisposable {
  readonly #lake: Lake;
  readonly #clock: Clock;
  readonly #place: RunPlace;
  readonly #runs = new Map<string, Started>();
  #isClosed = false;

  constructor(lake: Lake, clock: Clock, place: RunPlace) {
    this.#lake = lake;
    this.#clock = clock;
    this.#place = place;
  }

  /** Starts a run. @throws {UsageError} without a key, or while a run of the pipeline is in progress. */
  start(pipeline: Pipeline): void {
    const place = this.#place;
    if (place.kind === "absent" && pipeline.kind !== "files")
      throw new UsageError(place.message, { hint: place.hint });
    if (this.#isClosed) throw new UsageError("the workspace is closing");
    const { name } = pipeline;
    const before = this.#runs.get(name);
    if (before !== undefined && before.outcome === undefined)
      throw new UsageError(`pipeline ${name}: a run of it goes on`, {
        hint: "wait for it to end, or stop it",
      });
    const run: Started = {
      pipeline: name,
      startedAt: this.#clock.now(),
      stop: new AbortController(),
      progress: undefined,
      outcome: undefined,
      done: Promise.resolve(),
    };
    this.#runs.set(name, run);
    const work = (): Promise<RunReport> => this.#run(pipeline, run);
    run.done = this.#settle(run, work);
  }

  /** Stops a run as Ctrl-C does: received responses land. @throws {UsageError} where no run is in progress. */
  stop(pipeline: string): void {
    const run = this.#runs.get(pipeline);
    if (run === undefined || run.outcome !== undefined)
      throw new UsageError(`pipeline ${pipeline.slice(0, 80)}: no run of it was started here`);
    run.stop.abort();
  }

  /** The runs in progress, and the last run of each other pipeline. */
  reports(): StartedReport[] {
    return [...this.#runs.values()].map(reportOf);
  }

  /** Stops the runs, and waits until their received responses have landed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const { stop } of this.#runs.values()) stop.abort();
    await Promise.all([...this.#runs.values()].map(({ done }) => done));
  }

  async #settle(run: Started, work: () => Promise<RunReport>): Promise<void> {
    const { outcome } = await settleRun(run.pipeline, this.#clock, work);
    // A run that was stopped before it could begin has not failed.
    const isStopped = outcome.runId === undefined && run.stop.signal.aborted;
    run.outcome = isStopped ? { ...outcome, status: "interrupted", stopped: undefined } : outcome;
  }

  async #run(pipeline: Pipeline, run: Started): Promise<RunReport> {
    const parts = {
      lake: this.#lake,
      clock: this.#clock,
      onProgress: (progress: Progress) => {
        run.progress = progress;
      },
    };
    const place = this.#place;
    if (pipeline.kind === "files" || place.kind === "absent")
      return runPipeline(pipeline, {}, { ...parts, signal: run.stop.signal });
    const service = await place.open(pipeline);
    const { client, limits, lost } = service;
    const environment = { ...parts, client, limits, signal: AbortSignal.any([run.stop.signal, lost]) };
    const work = async (): Promise<RunReport> => {
      const report = await runPipeline(pipeline, {}, environment);
      if (lost.aborted) throw lost.reason;
      return report;
    };
    return releaseAfter(work, () => service.close());
  }
}

function reportOf({ pipeline, startedAt, stop, progress, outcome }: Started): StartedReport {
  const { quota } = progress ?? {};
  return {
    pipeline,
    startedAt,
    isStopping: outcome === undefined && stop.signal.aborted,
    doing: progress?.doing ?? "",
    requestsDone: progress?.requestsDone ?? 0,
    requestsTotal: progress?.requestsTotal ?? 0,
    rows: progress?.rows ?? 0,
    bytes: progress?.bytes ?? 0,
    tables: progress?.tables ?? [],
    quota:
      quota === undefined
        ? null
        : {
            used: quota.usedLastMinute,
            limit: quota.limit ?? null,
            waitingUntil: quota.waitingUntil ?? null,
          },
    ended:
      outcome === undefined
        ? null
        : {
            status: outcome.status,
            runId: outcome.runId ?? null,
            stopped: outcome.stopped ?? null,
            reasons: [...new Set(outcome.failures.map(({ reason }) => reason))].slice(0, MOST_REASONS),
            finishedAt: outcome.finishedAt,
          },
  };
}
