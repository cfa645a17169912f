import type { Clock } from "../../../core/time.js";
import { jsonParameter } from "../../../db/session/json-parameter.js";
import type { Session } from "../../../db/session/session.js";
import { TempTable } from "../../../db/session/temp-table.js";
import type { Lake } from "../../../lake/lake.js";
import { stageObjects } from "../../../lake/land/stage-objects.js";
import { type LandReport, upsert } from "../../../lake/land/upsert.js";
import { ENGINE } from "../../../lake/log/commit-actions.js";
import { RUNS, type RunStatus } from "../../../schema/runs.js";
import { landOptions } from "../run-context.js";

/** The run that is recorded. */
interface RecordedRun {
  readonly lake: Lake;
  readonly session: Session;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly clock: Pick<Clock, "now">;
}

/** The result of the run. */
interface RecordedReport {
  readonly runId: string;
  readonly pipeline: string;
  readonly status: RunStatus;
  readonly stopped: string | undefined;
  readonly requests: Readonly<
    Record<"planned" | "sent" | "answered" | "empty" | "refused" | "failed", number>
  >;
  readonly rows: number;
  readonly bytes: number;
  readonly durationMs: number;
  readonly landed: readonly LandReport[];
  readonly rejected: readonly { readonly rows: number }[];
}

/**
 * Records a run in the table `runs`, in one small commit; an existing record of the run is replaced.
 *
 * @param options the caller's options in addition to the pipeline; undefined values are left out.
 * @param host host of the service, with its port.
 * @throws {LakeError} where the commit cannot be made.
 */
export async function recordRun(
  run: RecordedRun,
  report: RecordedReport,
  options: object,
  host: string,
): Promise<void> {
  const { requests, landed } = report;
  const total = (part: "inserted" | "updated" | "unchanged"): number =>
    landed.reduce((sum, one) => sum + one[part], 0);
  const row = {
    run_id: report.runId,
    pipeline: report.pipeline,
    started_at: run.startedAt,
    finished_at: run.startedAt + Math.round(report.durationMs),
    status: report.status,
    stopped: report.stopped,
    requests_planned: requests.planned,
    requests_sent: requests.sent,
    requests_answered: requests.answered,
    requests_empty: requests.empty,
    requests_refused: requests.refused,
    requests_failed: requests.failed,
    rows: report.rows,
    rejected: report.rejected.reduce((sum, { rows }) => sum + rows, 0),
    bytes: report.bytes,
    inserted: total("inserted"),
    updated: total("updated"),
    unchanged: total("unchanged"),
    host,
    engine: ENGINE,
    options: jsonParameter(options),
    month: `${new Date(run.startedAt).toISOString().slice(0, 7)}-01`,
  };
  await using staged = new TempTable(run.session, "staged_runs");
  await stageObjects(run.session, staged.name, RUNS.columns, [row]);
  const { runId } = report;
  await upsert(run.session, run.lake, RUNS, staged.name, landOptions({ runId, clock: run.clock }));
}
