import type { Clock } from "../../../core/time.js";
import { jsonParameter } from "../../../db/session/named-values.js";
import { Session, TempTable } from "../../../db/session/session.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import type { Lake } from "../../../lake/lake.js";
import { stageObjects } from "../../../lake/land/clear-values.js";
import { changesOfLake, type ReferenceChange, WITH_CHANGES } from "../../../lake/land/land-versions.js";
import { type LandReport, upsert } from "../../../lake/land/upsert.js";
import { writerSpillOptions } from "../../../lake/local/work-folder.js";
import { ENGINE } from "../../../lake/log/commit-actions.js";
import { effectiveHistory } from "../../../lake/log/history.js";
import type { EndedRun } from "../../../lake/requests/run-lease.js";
import { nameOfOwner } from "../../../lease/owner.js";
import { REQUESTS, RUNS } from "../../../schema/runs.js";
import { TABLES } from "../../../schema/tables.js";
import { landOptions } from "../run-context.js";
import type { RunReport } from "./run-report.js";

/** What the snapshots of a run have changed. @param run.startedAt epoch milliseconds. */
export async function changesOf(
  {
    lake,
    clock,
    startedAt,
  }: { readonly lake: Lake; readonly clock: Pick<Clock, "now">; readonly startedAt: number },
  landed: readonly LandReport[],
): Promise<readonly ReferenceChange[]> {
  const hasChanged = landed.some(
    ({ table, inserted, updated }) => WITH_CHANGES.has(table) && inserted + updated > 0,
  );
  return hasChanged ? changesOfLake(lake, { since: startedAt, until: clock.now() }) : [];
}

interface RecordedRun {
  readonly lake: Lake;
  readonly session: Session;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly clock: Pick<Clock, "now">;
}

type RecordedFacts = Pick<
  RunReport,
  "runId" | "pipeline" | "status" | "stopped" | "requests" | "rows" | "bytes"
>;
type RecordedReport = RecordedFacts & Pick<RunReport, "durationMs" | "landed" | "rejected">;

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
  const { landed, rejected } = report;
  const total = (part: "inserted" | "updated" | "unchanged"): number =>
    landed.reduce((sum, one) => sum + one[part], 0);
  await landRow(run, report, {
    started_at: run.startedAt,
    finished_at: run.startedAt + Math.round(report.durationMs),
    rejected: rejected.reduce((sum, { rows }) => sum + rows, 0),
    inserted: total("inserted"),
    updated: total("updated"),
    unchanged: total("unchanged"),
    host,
    options: jsonParameter(options),
  });
}

/** The columns of `runs` that are no part of a report; times in epoch milliseconds. */
type OtherColumns = Readonly<
  Record<"started_at" | "finished_at" | "rejected" | "inserted" | "updated" | "unchanged", number> &
    Record<"host" | "options", string>
>;

async function landRow(
  { session, lake, clock }: Pick<RecordedRun, "session" | "lake" | "clock">,
  { runId, pipeline, status, stopped, requests, rows, bytes }: RecordedFacts,
  others: OtherColumns,
): Promise<void> {
  const row = {
    ...others,
    run_id: runId,
    pipeline,
    status,
    stopped,
    requests_planned: requests.planned,
    requests_sent: requests.sent,
    requests_answered: requests.answered,
    requests_empty: requests.empty,
    requests_refused: requests.refused,
    requests_failed: requests.failed,
    rows,
    bytes,
    engine: ENGINE,
    month: `${new Date(others.started_at).toISOString().slice(0, 7)}-01`,
  };
  await using staged = new TempTable(session, "staged_runs");
  await stageObjects(session, staged.name, RUNS.columns, [row]);
  await upsert(session, lake, RUNS, staged.name, landOptions({ runId, clock }));
}

/**
 * Records in the table `runs` that the process of a run has ended without a record of it: with its last sign of life, the
 * counts of the ledger, and those of its commits. If the run has a record already, nothing changes, except that a record of
 * this kind gets newer counts. Several runs may record the same.
 *
 * @throws {LakeError} where the commit cannot be made.
 */
export async function recordKilled(
  run: Pick<RecordedRun, "session" | "lake" | "clock">,
  { runId, pipeline, startedAt, seenAt, service, options, owner, tables }: EndedRun,
): Promise<void> {
  const { session, lake } = run;
  const runs = await parquetRelation(session, lake.filesOf(await lake.snapshot(RUNS)));
  const known = await session.json(`SELECT 1 FROM (${runs}) WHERE run_id = $1 AND status <> 'killed'`, [
    runId,
  ]);
  if (known.length > 0) return;
  const ledger = await parquetRelation(session, lake.filesOf(await lake.snapshot(REQUESTS)));
  type Counts = RecordedReport["requests"] & { rows: number; rejected: number; bytes: number };
  const [counts] = await session.json<Counts>(
    `SELECT ${(["answered", "empty", "refused", "failed"] as const)
      .map((status) => `(count(*) FILTER (status = '${status}'))::DOUBLE AS ${status}`)
      .join(", ")}, count(*)::DOUBLE AS sent, count(*)::DOUBLE AS planned,
       coalesce(sum("rows"), 0)::DOUBLE AS "rows", coalesce(sum(rejected), 0)::DOUBLE AS rejected,
       coalesce(sum(bytes), 0)::DOUBLE AS bytes
     FROM (${ledger}) WHERE run_id = $1 AND attempts > 0`,
    [runId],
  );
  const { rows, rejected, bytes, ...requests } = counts as Counts;
  const stopped = `${nameOfOwner(owner)} ended without a word`;
  await landRow(
    run,
    { runId, pipeline, status: "killed", stopped, requests, rows, bytes },
    {
      started_at: startedAt,
      finished_at: Math.max(startedAt, Math.floor(seenAt)),
      rejected,
      ...(await committedRows(lake, { runId, startedAt, tables })),
      unchanged: 0,
      host: service,
      options,
    },
  );
}

/** Records that the process of a run has ended, as {@link recordKilled} does, with a session of its own. */
export async function recordEnded(lake: Lake, clock: Pick<Clock, "now">, run: EndedRun): Promise<void> {
  using session = await Session.open({ ...writerSpillOptions(lake.work), ...lake.access });
  await recordKilled({ lake, session, clock }, run);
}

/** How much earlier than the start of a run its first commit may be dated, as clocks differ; in milliseconds. */
const CLOCKS_APART_MS = 30 * 60_000;

async function committedRows(
  { storage }: Lake,
  { runId, startedAt, tables }: Pick<EndedRun, "runId" | "startedAt" | "tables">,
): Promise<{ readonly inserted: number; readonly updated: number }> {
  const rows = { inserted: 0, updated: 0 };
  for (const table of TABLES.filter((one) => one !== REQUESTS && one !== RUNS && tables.includes(one.name))) {
    for await (const entry of effectiveHistory(storage, table, Number.POSITIVE_INFINITY)) {
      if ((entry.committedAt ?? startedAt) < startedAt - CLOCKS_APART_MS) break;
      if (entry.runId !== runId) continue;
      rows.inserted += entry.inserted ?? 0;
      rows.updated += entry.updated ?? 0;
    }
  }
  return rows;
}
