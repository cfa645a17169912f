import { systemClock } from "../../src/client/system-clock.js";
import { DAY_MS } from "../../src/core/time.js";
import { Session } from "../../src/db/session/session.js";
import { landRequests, type RequestRecord, recordAbsencesLand } from "../../src/jobs/ledger/ledger.js";
import { definePipeline } from "../../src/jobs/pipeline/definition.js";
import { planPipeline } from "../../src/jobs/run/run-pipeline.js";
import { Lake } from "../../src/lake/lake.js";
import { landTradingDays } from "../../src/lake/land/trading-days.js";
import { writerSpillOptions } from "../../src/lake/local/work-folder.js";
import { finalEnd } from "../../src/market/sessions.js";
import { EX_FACTORS } from "../../src/schema/actions.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { writeDays, writeReference } from "./market-lake.js";

/** The size of a lake that nightly runs keep up to date. */
export interface NightSpec {
  readonly symbols: number;
  readonly years: readonly number[];
  /** Nights before the last one; each has asked for the days since the night before. */
  readonly nights: number;
}

/** The date after the last bar of the lake of a night before: a Wednesday. */
export const NIGHT = "2025-12-31";
/** The date after the last bar. */
export const AFTER = "2026-01-01";

const LANDING = { operation: "INGEST", runId: "bench" } as const;

/**
 * Writes daily bars up to a day (exclusive), with the trading days that follow from them, and the ledger of the run that
 * asked for the whole history, and of the nights after it.
 */
export async function writeNights(folder: string, spec: NightSpec, end: string): Promise<Lake> {
  const { symbols, years, nights } = spec;
  const lake = new Lake(folder);
  using session = await Session.open(writerSpillOptions(lake.work));
  await writeReference(session, lake, symbols);
  const last = Date.parse(`${end}T00:00:00+08:00`);
  const first = last - nights * DAY_MS;
  const daily = definePipeline({
    name: "daily",
    kind: "bars",
    period: "1d",
    from: "2016-01-01",
    regions: ["CN"],
  });
  const clock = { ...systemClock, now: () => first };
  const units = (await planPipeline(daily, {}, { lake, clock })) ?? [];
  const recordOf = (
    dataset: string,
    asked: readonly string[],
    start: number,
    now: number,
  ): RequestRecord => ({
    runId: `night-${now}`,
    pipeline: "daily",
    requestId: `${dataset}-${now}-${asked[0]}`,
    dataset,
    endpoint: dataset,
    symbols: asked,
    window: { start, end: now },
    finalEnd: finalEnd("CN", now),
    askedAt: now,
    status: "answered",
    httpStatus: 200,
    attempts: 1,
    rows: asked.length,
    rejected: 0,
    bytes: 0,
    durationMs: 0,
    absent: [],
  });
  const records = [BARS_1D, EX_FACTORS].flatMap(({ name }) => {
    const own = units.map((unit) => recordOf(name, unit.symbols, unit.window.start, first));
    for (let now = first + DAY_MS; now <= last; now += DAY_MS)
      for (const unit of units) own.push(recordOf(name, unit.symbols, now - DAY_MS, now));
    return own;
  });
  const now = Date.now();
  await landRequests(session, lake, records, { ...LANDING, now });
  await writeDays(session, lake, { symbols, years, end });
  await landTradingDays(session, lake, { ...LANDING, now });
  await recordAbsencesLand(lake, { ...LANDING, now });
  return lake;
}
