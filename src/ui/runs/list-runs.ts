import type { Session } from "../../db/session/session.js";
import type { RunRow } from "../../jobs/run/report/run-history.js";
import type { RunReport } from "../page-data.js";
import { listPage, offsetOf, PAGE_ROWS } from "../quality/list-page.js";
import type { ListPage } from "../quality/quality-data.js";

/** The filter of a list of runs. */
export interface RunsFilter {
  readonly pipeline?: string | undefined;
  readonly status?: string | undefined;
}

/** A page of the runs, the newest first. */
export async function pageOfRuns(
  session: Session,
  { pipeline, status }: RunsFilter,
  page: number,
): Promise<ListPage<RunReport>> {
  const rows = await session.json<RunRow & { readonly total: number }>(
    `SELECT * EXCLUDE (month), (count(*) OVER ())::DOUBLE AS total FROM raw.runs
     WHERE ($1::VARCHAR IS NULL OR pipeline = $1) AND ($2::VARCHAR IS NULL OR status = $2)
     ORDER BY started_at DESC, run_id DESC LIMIT ${PAGE_ROWS} OFFSET ${offsetOf(page)}`,
    [pipeline || null, status || null],
  );
  return listPage(rows.map(runReport), rows[0]?.total ?? 0, page);
}

/** The last run of each pipeline, by name. */
export async function lastRunOfEach(session: Session): Promise<ReadonlyMap<string, RunReport>> {
  const rows = await session.json<RunRow>(
    `SELECT * EXCLUDE (month) FROM raw.runs
     QUALIFY row_number() OVER (PARTITION BY pipeline ORDER BY started_at DESC, run_id DESC) = 1`,
  );
  return new Map(rows.map((row) => [row.pipeline, runReport(row)]));
}

/** A row of the table `runs` in the form that the page receives. */
export function runReport(run: RunRow): RunReport {
  return {
    id: run.run_id,
    pipeline: run.pipeline,
    status: run.status,
    startedAt: run.started_at.getTime(),
    finishedAt: run.finished_at.getTime(),
    stopped: run.stopped,
    requests: Number(run.requests_sent),
    failed: Number(run.requests_refused + run.requests_failed),
    rows: Number(run.rows),
    inserted: Number(run.inserted),
    updated: Number(run.updated),
    rejected: Number(run.rejected),
    bytes: Number(run.bytes),
  };
}
