import { millisecondsInHour as HOUR_MS } from "date-fns/constants";
import { BarlakeError } from "../../core/errors.js";
import { groupBy } from "../../core/group-by.js";
import { shellWord } from "../../core/text-order.js";
import type { Session } from "../../db/session/session.js";
import { expectedRows } from "../../jobs/ingest/bars/bars-demand.js";
import { type Pipeline, quotaOf } from "../../jobs/pipeline/definition.js";
import { loadPipeline, pipelineFiles } from "../../jobs/pipeline/load-pipeline.js";
import { type RunRow, runDetails } from "../../jobs/run/report/run-history.js";
import { planPipeline } from "../../jobs/run/run-pipeline.js";
import { scheduleLeaders } from "../../jobs/schedule/leadership.js";
import type { Lake } from "../../lake/lake.js";
import { readTradingDays } from "../../lake/land/trading-days.js";
import { type HistoryEntry, readHistory } from "../../lake/log/history.js";
import type { Reader } from "../../lake/open-reader.js";
import { type LeasedRun, leasedRuns } from "../../lake/requests/run-lease.js";
import { nameOfOwner } from "../../lease/owner.js";
import { REGION_NAMES } from "../../market/regions.js";
import { TradingCalendar } from "../../market/trading-calendar.js";
import { type IsTradingDay, nextDue } from "../../plan/due-times.js";
import { TABLES } from "../../schema/tables.js";
import type { RunReport } from "../page-data.js";
import { type ListPage, listPage, offsetOf, PAGE_ROWS } from "../quality/quality-data.js";
import type { WorkspaceParts } from "../workspace-parts.js";
import type {
  OtherRunReport,
  PipelineReport,
  PlanReport,
  RunDetailsReport,
  TableChange,
} from "./runs-data.js";

interface RunsFilter {
  readonly pipeline?: string | undefined;
  readonly status?: string | undefined;
}

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

async function lastRunOfEach(session: Session): Promise<ReadonlyMap<string, RunReport>> {
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

const MOST_LISTED = 100;
const MOST_NAMED = 20;
/** Most characters of the options, which can name thousands of symbols. */
const MOST_OPTIONS = 300;

/** Everything about one run: what it requested, what failed and why, and what it changed. @throws {UsageError} */
export async function runDetailsReport(
  { session }: Reader,
  lake: Lake,
  id: string,
  location: string,
): Promise<RunDetailsReport> {
  const { run, requests, failures, windows, absent, rejects } = await runDetails(session, id);
  const changes = await Promise.all(
    TABLES.map(async (table) => {
      const history = await readHistory(lake.storage, table).catch(() => []);
      return tableChange(table.name, history, run.run_id);
    }),
  );
  return {
    run: {
      ...runReport(run),
      planned: Number(run.requests_planned),
      unchanged: Number(run.unchanged),
      host: run.host,
      engine: run.engine,
      options: run.options.length > MOST_OPTIONS ? `${run.options.slice(0, MOST_OPTIONS)} …` : run.options,
    },
    requests: requests.slice(0, MOST_LISTED),
    failures: failures
      .slice(0, MOST_LISTED)
      .map(({ http_status: httpStatus, ...failure }) => ({ ...failure, httpStatus })),
    windows: windows.map(({ start, end, ...window }) => ({
      ...window,
      start: start.getTime(),
      end: end.getTime(),
    })),
    absent: absent.map(({ dataset, symbols }) => ({
      dataset,
      symbols: symbols.length,
      examples: symbols.slice(0, MOST_NAMED),
    })),
    rejects: rejects.slice(0, MOST_LISTED),
    changes: changes.filter((change) => change !== undefined),
    command: `npx barlake runs show ${shellWord(run.run_id)} --lake ${shellWord(location)}`,
  };
}

/** What the commits of a run have changed in a table; undefined where the run has no commit there. */
export function tableChange(
  table: string,
  history: readonly HistoryEntry[],
  runId: string,
): TableChange | undefined {
  const own = history.filter((entry) => entry.runId === runId);
  const [first, last] = [own[0], own.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const sum = (of: (entry: HistoryEntry) => number): number => own.reduce((all, entry) => all + of(entry), 0);
  return {
    table,
    before: first.version - 1,
    after: last.version,
    inserted: sum(({ inserted = 0 }) => inserted),
    updated: sum(({ updated = 0 }) => updated),
    filesAdded: sum(({ filesAdded }) => filesAdded),
    filesRemoved: sum(({ filesRemoved }) => filesRemoved),
    bytesAdded: sum(({ bytesAdded }) => bytesAdded),
  };
}

const MOST_RUNS = 20;

/** What the ledger contains about a run without a record of its end. */
interface LedgerRun {
  readonly runId: string;
  readonly pipeline: string;
  readonly requests: number;
  readonly failed: number;
  readonly rows: number;
  readonly bytes: number;
  readonly firstAskedAt: number;
  readonly lastAskedAt: number;
}

/** The runs of other processes that are in progress, from their leases and from what they have landed so far. */
export async function otherRuns(session: Session, lake: Lake, now: number): Promise<OtherRunReport[]> {
  const leased = await leasedRuns(lake);
  const ids = [...leased.keys()].join("\n");
  const ledger = await session.json<LedgerRun>(
    `SELECT run_id AS "runId", any_value(pipeline) AS pipeline, count(*) FILTER (attempts > 0)::DOUBLE AS requests,
       count(*) FILTER (status IN ('refused', 'failed'))::DOUBLE AS failed, sum("rows")::DOUBLE AS rows,
       sum(bytes)::DOUBLE AS bytes, epoch_ms(min(asked_at))::DOUBLE AS "firstAskedAt",
       epoch_ms(max(asked_at))::DOUBLE AS "lastAskedAt"
     FROM raw.requests
     WHERE asked_at > make_timestamptz(($1::DOUBLE * 1000)::BIGINT) OR list_contains(string_split($2, chr(10)), run_id)
     GROUP BY run_id HAVING run_id NOT IN (SELECT run_id FROM raw.runs)
     ORDER BY "lastAskedAt" DESC LIMIT ${MOST_RUNS}`,
    [now - HOUR_MS, ids],
  );
  const [ended] = await session.json<{ ids: string[] }>(
    "SELECT coalesce(list(run_id), []) AS ids FROM raw.runs WHERE list_contains(string_split($1, chr(10)), run_id)",
    [ids],
  );
  return mergeRuns(leased, ledger, new Set(ended?.ids));
}

/** Combines the facts about runs from the leases and the ledger. @param ended ids of runs that have ended */
export function mergeRuns(
  leased: ReadonlyMap<string, LeasedRun>,
  ledger: readonly LedgerRun[],
  ended: ReadonlySet<string>,
): OtherRunReport[] {
  const ids = new Set([...ledger.map(({ runId }) => runId), ...leased.keys()]);
  const runs = [...ids]
    .filter((id) => !ended.has(id))
    .map((runId): OtherRunReport => {
      const landed = ledger.find((one) => one.runId === runId);
      const lease = leased.get(runId);
      return {
        runId,
        pipeline: landed?.pipeline ?? lease?.pipeline ?? runId,
        startedAt: startOf(runId) ?? landed?.firstAskedAt ?? null,
        owner: lease === undefined ? null : nameOfOwner(lease),
        asks: lease?.asks ?? [],
        requests: landed?.requests ?? 0,
        failed: landed?.failed ?? 0,
        rows: landed?.rows ?? 0,
        bytes: landed?.bytes ?? 0,
        lastAskedAt: landed?.lastAskedAt ?? null,
      };
    });
  return runs.sort((a, b) => (a.runId < b.runId ? 1 : -1)).slice(0, MOST_RUNS);
}

/** When a run began, in epoch milliseconds, according to its id. */
function startOf(runId: string): number | undefined {
  const parts = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-/.exec(runId)?.slice(1);
  if (parts === undefined) return undefined;
  const [year, month, day, hour, minute, second] = parts;
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

/** The pipelines that `barlake run` and `barlake schedule` find, by name. */
export async function pipelineReports(
  { lake, clock, pipelines: folder }: WorkspaceParts,
  { session }: Reader,
): Promise<PipelineReport[]> {
  const now = clock.now();
  const isTradingDay = await comingTradingDays(session, lake);
  // If the leaders cannot be read, the pipelines are shown without them.
  const leaders = await scheduleLeaders(lake).catch(() => new Map<string, string>());
  const last = await lastRunOfEach(session);
  const reports: PipelineReport[] = [];
  for (const name of (await pipelineFiles(folder)).keys()) {
    const loaded = await loadPipeline(name, folder).catch(faultOf);
    const isWhole = !(loaded instanceof BarlakeError);
    const schedule = isWhole ? loaded.schedule : [];
    reports.push({
      name,
      doc: isWhole ? loaded.doc : "",
      kind: isWhole ? kindOf(loaded) : "",
      schedule,
      next: nextDue(schedule, now, isTradingDay) ?? null,
      leader: leaders.get(name) ?? null,
      last: last.get(name) ?? null,
      fault: isWhole ? null : { message: loaded.message, hint: loaded.hint ?? null },
    });
  }
  return reports.sort((a, b) => (a.next ?? Number.POSITIVE_INFINITY) - (b.next ?? Number.POSITIVE_INFINITY));
}

/** Days to come, of which every weekday counts as a session; to read the ledger of the past takes seconds. */
async function comingTradingDays(session: Session, lake: Lake): Promise<IsTradingDay> {
  const known = await readTradingDays(session, lake);
  const calendars = new Map(
    REGION_NAMES.map((region) => [region, new TradingCalendar(region, known.get(region))]),
  );
  return (region, date) => calendars.get(region)?.isOpen(date) === true;
}

/** The requests that a run of a pipeline would send now, and how long they take under the quota. */
export async function planReport(
  { lake, clock, runPlace }: WorkspaceParts,
  pipeline: Pipeline,
): Promise<PlanReport> {
  const known = runPlace.kind === "ready" ? await runPlace.limits() : undefined;
  const limits = known === undefined ? {} : { limits: { limits: known, learn: () => {} } };
  const units = await planPipeline(pipeline, {}, { lake, clock, ...limits });
  const given = runPlace.kind === "ready" ? runPlace.requestsPerMinute : undefined;
  const requestsPerMinute =
    given ?? quotaOf(pipeline)?.requestsPerMinute ?? known?.requestsPerMinute?.klines ?? null;
  if (units === undefined || pipeline.kind !== "bars")
    return { requests: null, regions: [], requestsPerMinute, minutes: null };
  const regions = groupBy(units, ({ region }) => region);
  return {
    requests: units.length,
    regions: [...regions].map(([region, own]) => ({
      region,
      requests: own.length,
      symbols: new Set(own.flatMap(({ symbols }) => symbols)).size,
      bars: expectedRows(own, pipeline.period),
    })),
    requestsPerMinute,
    minutes: requestsPerMinute === null ? null : units.length / requestsPerMinute,
  };
}

function kindOf(pipeline: Pipeline): string {
  if (pipeline.kind === "bars") return `${pipeline.kind} ${pipeline.period}`;
  return pipeline.kind === "files" ? `${pipeline.kind} ${pipeline.table}` : pipeline.kind;
}

function faultOf(error: unknown): BarlakeError {
  if (error instanceof BarlakeError) return error;
  throw error;
}
