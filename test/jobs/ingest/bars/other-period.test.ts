import { expect, test } from "vitest";
import { DAY_MS, MINUTE_MS } from "../../../../src/core/time.js";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { SESSION_HOURS } from "../../../../src/market/sessions.js";
import { symbolsOfOtherPeriod } from "../../../../src/plan/absence/judge-response.js";
import { json, type Script } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { type BarTimes, minutes, newestBars, weekdays } from "../../minute-market.js";
import { scriptedMarket } from "../../scripted-market.js";

const NOW = "2024-12-14T00:00:00Z";
const MINUTE: PipelineDefinition = { name: "minute", kind: "bars", period: "1m", from: "2024-12-02" };
const DAYS = weekdays("2024-12-02", "2024-12-14");
/** Sessions of years, in some of which Monday is the only one of its week. */
const YEARS = weekdays("2019-01-01", "2024-12-14").filter((ms) => !/-10-0[1-7]$/.test(dateOf(ms)));
const SYMBOLS = Array.from({ length: 6 }, (_, n) => `${600_000 + n}.SH`);

function dateOf(ms: number): string {
  return new Date(ms + 8 * 60 * MINUTE_MS).toISOString().slice(0, 10);
}

function marketOf(times: readonly number[], symbols: readonly string[] = SYMBOLS): BarTimes {
  return Object.fromEntries(symbols.map((symbol) => [symbol, times]));
}

const giving =
  (market: BarTimes): Script =>
  (seen, response) =>
    json(response, 200, { data: newestBars(seen, market) });

/** Ends of the bars of a number of minutes. */
function barsOf(length: number, days: readonly number[] = DAYS): number[] {
  return days.flatMap((day) =>
    SESSION_HOURS.CN.parts.flatMap(([open, close]) =>
      Array.from({ length: (close - open) / length }, (_, n) => day + (open + (n + 1) * length) * MINUTE_MS),
    ),
  );
}

/** The last sessions of weeks or months. */
function lastSessions(days: readonly number[], unitOf: (day: number) => string | number): number[] {
  return days.filter((day, n) => n === days.length - 1 || unitOf(day) !== unitOf(days[n + 1] as number));
}

// Week 0 begins on Thursday, 1970-01-01.
const weeks = lastSessions(YEARS, (day) => Math.floor((day / DAY_MS + 8 / 24 + 3) / 7));
const months = lastSessions(YEARS, (day) => dateOf(day).slice(0, 7));

/** The symbols of another period in a response with the same times for each symbol. */
function found(times: readonly number[], period: "1d" | "1m", symbols = SYMBOLS): string[] {
  const all = symbols.flatMap(() => times);
  const spans = symbols.map((symbol, n) => ({
    symbol,
    start: n * times.length,
    end: (n + 1) * times.length,
  }));
  const words = new Uint32Array(BigInt64Array.from(all, BigInt).buffer);
  return [...symbolsOfOtherPeriod(spans, words, { region: "CN", period, isAggregated: false })];
}

test.each([
  ["5 minutes", "1m", barsOf(5)],
  ["60 minutes", "1m", barsOf(60)],
  ["60 minutes of one day", "1m", barsOf(60, DAYS.slice(0, 1))],
  ["days as minutes", "1m", DAYS],
  ["weeks", "1d", weeks],
  ["months", "1d", months],
  ["minutes as days", "1d", minutes(YEARS.slice(-30)).slice(-3601)],
] as const)("bars of another period are recognised: %s", (_, period, times) => {
  expect(found(times, period)).toEqual(SYMBOLS);
});

test("bars of another period never land, and the next run lands those that were requested", async () => {
  const wrong = barsOf(15);
  const { run, service, clock, lake } = await scriptedMarket(giving(marketOf(wrong)), NOW);
  const first = await run(MINUTE, { symbols: SYMBOLS });
  expect(first).toMatchObject({ status: "partial", rows: 0, requests: { sent: 2 } });
  expect(first.completeness[0]?.setAside.map(({ symbol, bars }) => [symbol, bars])).toEqual(
    SYMBOLS.map((symbol) => [symbol, wrong.length]),
  );
  const bars = () => queryLake(lake, "SELECT count(*)::INT AS bars FROM bars_1m");
  expect(await bars()).toEqual([{ bars: 0 }]);
  service.script = giving(marketOf(minutes(DAYS)));
  clock.advance(1000);
  expect(await run(MINUTE, { symbols: SYMBOLS })).toMatchObject({
    status: "complete",
    requests: { sent: 1 },
  });
  expect(await bars()).toEqual([{ bars: DAYS.length * 240 * SYMBOLS.length }]);
});

/** Times of which each is one of some distances after the last, in turn. */
function apart(start: number, distances: readonly number[], length: number): number[] {
  let at = start;
  return Array.from({ length }, (_, n) => (at += distances[n % distances.length] as number));
}

const open = (day: number): number => day + 9.5 * 60 * MINUTE_MS;

test.each([
  [
    "minutes with 1, 3 and 7 between them",
    "1m",
    apart(open(DAYS[3] as number), [MINUTE_MS, 3 * MINUTE_MS, 7 * MINUTE_MS], 20),
  ],
  [
    "minutes with 5 between nearly all of them",
    "1m",
    [...apart(open(DAYS[3] as number), [5 * MINUTE_MS], 20), open(DAYS[3] as number) + 101 * MINUTE_MS],
  ],
  ["the auctions of each day alone", "1m", DAYS.flatMap((day) => [open(day), day + 15 * 60 * MINUTE_MS])],
  [
    "few days, with one gap of three days",
    "1d",
    apart(
      YEARS[0] as number,
      [7, 7, 14, 3, 11, 7, 7, 14, 28, 7, 7, 7].map((days) => days * DAY_MS),
      12,
    ),
  ],
  [
    "few days, with one gap of a day",
    "1d",
    apart(
      YEARS[0] as number,
      [...Array<number>(40).fill(7), 1].map((days) => days * DAY_MS),
      41,
    ),
  ],
] as const)("a symbol that seldom trades has %s: they are of the requested period", (_, period, times) => {
  expect(found(times, period, ["600519.SH"])).toEqual([]);
});
