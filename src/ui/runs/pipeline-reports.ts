import { BarlakeError } from "../../core/errors.js";
import type { Session } from "../../db/session/session.js";
import { expectedRows } from "../../jobs/ingest/bars/bars-demand.js";
import { type Pipeline, quotaOf } from "../../jobs/pipeline/definition.js";
import { loadPipeline, pipelineFiles } from "../../jobs/pipeline/load-pipeline.js";
import { type PlannedRequest, planPipeline } from "../../jobs/run/run-pipeline.js";
import { scheduleLeaders } from "../../jobs/schedule/leadership.js";
import type { Lake } from "../../lake/lake.js";
import { readTradingDays } from "../../lake/land/trading-days.js";
import type { Reader } from "../../lake/open-reader.js";
import { REGION_NAMES } from "../../market/regions.js";
import { TradingCalendar } from "../../market/trading-calendar.js";
import { type IsTradingDay, nextDue } from "../../plan/due-times.js";
import type { WorkspaceParts } from "../workspace-parts.js";
import { lastRunOfEach } from "./list-runs.js";
import type { PipelineReport, PlanReport } from "./runs-data.js";

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

/**
 * Makes the function that decides on which days pipelines are due. These days are in the future, where every weekday
 * counts as a session. The past, for which the ledger would have to be read, does not matter; reading it takes seconds
 * after years of runs.
 */
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
  const regions = new Map<string, PlannedRequest[]>();
  for (const unit of units) {
    const own = regions.get(unit.region);
    if (own === undefined) regions.set(unit.region, [unit]);
    else own.push(unit);
  }
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
