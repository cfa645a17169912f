import { existsSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { expect } from "vitest";
import { parseTradingDate } from "../../../src/core/time.js";
import type { Session } from "../../../src/db/session/session.js";
import type { Lake } from "../../../src/lake/lake.js";
import { openReader } from "../../../src/lake/open-reader.js";
import type { SegmentPlace } from "../../../src/lake/segments/segment-folder.js";
import { buildSqlCopy } from "../../../src/lake/sql-copy/build-sql-copy.js";
import { MINUTES_SHARE } from "../../../src/lake/sql-copy/copied-months.js";
import { ADJUSTMENTS } from "../../../src/market/period.js";
import { REGIONS, type Region } from "../../../src/market/regions.js";
import { instantOf } from "../../../src/market/zone.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { pickFrom } from "../../sweep.js";
import { land, type TestBar, temporaryLake } from "../temporary-lake.js";

export const PERIODS = ["5m", "10m", "15m", "30m", "60m"];
export const SYMBOLS: readonly (readonly [string, Region])[] = [
  ["600519.SH", "CN"],
  ["00700.HK", "HK"],
  ["AAPL.US", "US"],
];
/** Minutes of a local day: around openings, lunch breaks and closes, and outside of all sessions. */
export const MINUTES = [
  "08:00 09:25 09:30 09:31 09:34 09:35 09:36 10:30 10:31 11:30 11:31 12:00 12:01 12:30",
  "13:00 13:01 13:05 13:06 14:00 15:00 15:01 16:00 16:01 19:55",
].flatMap((times) => times.split(" ").map(minuteOf));

function minuteOf(time: string): number {
  const [hour = 0, minute = 0] = time.split(":").map(Number);
  return hour * 60 + minute;
}

export function at([symbol, region]: readonly [string, Region], day: string, minute: number): TestBar {
  return { symbol, at: instantOf(parseTradingDate(day), REGIONS[region].zone, minute) };
}

export function copiesIn(folder: string): string[] {
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: "utf8" }) : [];
  return names
    .filter((name) => name.endsWith(".duckdb"))
    .sort()
    .map((name) => join(folder, name));
}

/** Minutes of three months, the last one of them not settled. */
export async function lakeOfMinutes(
  session: Session,
  isAllSettled: boolean,
  symbols = SYMBOLS,
): Promise<Lake> {
  const lake = temporaryLake();
  const bars = (day: string): TestBar[] =>
    symbols.flatMap((symbol) =>
      MINUTES.map((minute) => ({ ...at(symbol, day, minute), amount: minute / 7 })),
    );
  await land(session, lake, BARS_1M, [...bars("2026-02-27"), ...bars("2026-03-06")]);
  const exDate = at(["600519.SH", "CN"], "2026-03-06", 0);
  await land(session, lake, BARS_1D, [{ at: "2026-02-26T16:00:00Z" }, { ...exDate, prevClose: 8 }]);
  await land(session, lake, BARS_1M, bars("2026-04-01"), isAllSettled ? {} : { now: lake.clock.now() });
  return lake;
}

/** @param maxBytes of the copies of minutes. @default far more than a test needs */
export function placeIn(lake: Lake, folder: string, maxBytes?: number): SegmentPlace {
  const place = { root: folder, folder: join(folder, basename(lake.location)), copyFrom: 1 };
  return maxBytes === undefined ? place : { ...place, maxBytes: maxBytes / MINUTES_SHARE };
}

export function buildMinutes(lake: Lake, place: SegmentPlace): Promise<void> {
  return buildSqlCopy(lake, place, "minutes", new AbortController().signal);
}

/** What a query of a copy reads: the tables of its plan. */
export async function tablesOf(lake: Lake, copies: SegmentPlace, sql: string): Promise<string[]> {
  using reader = await openReader(lake, { threads: 1, copies });
  const plans = await reader.session.json<{ explain_value: string }>(`EXPLAIN ${sql}`);
  const text = plans.map((row) => row.explain_value).join("\n");
  const names = ["bars_1m", "bars_5m", "bars_60m", "odd_minutes", "READ_PARQUET"];
  return names.filter((name) => new RegExp(`\\b${name}`, "i").test(text));
}

/** Compares bars of a copy with those that are aggregated without one. @param where a filter of the bars. */
export async function expectSameBars(
  lake: Lake,
  copies: SegmentPlace,
  periods: readonly string[] = ["10m"],
  where = "",
): Promise<void> {
  using copied = await openReader(lake, { threads: 1, copies });
  using plain = await openReader(lake, { threads: 1 });
  expect(copied.copies).toHaveLength(1);
  const adjustments = pickFrom(ADJUSTMENTS, { few: 1, more: 5, all: 5 });
  for (const [period, adjustment] of periods.flatMap((one) => adjustments.map((other) => [one, other]))) {
    const question = `FROM adjusted('${period}', '${adjustment}') ${where} ORDER BY ALL`;
    const rows = await copied.session.json(question);
    expect(rows, question).toEqual(await plain.session.json(question));
    expect(rows.length).toBeGreaterThan(20);
  }
}
