import { expect, test } from "vitest";
import { DAY_MS } from "../../../../src/core/time.js";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { json, type Script, type Seen } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { weekdays } from "../../minute-market.js";
import { type Bars, scriptedMarket } from "../../scripted-market.js";

const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-11-01" };
const SYMBOLS = Array.from({ length: 12 }, (_, n) => `${600_000 + n}.SH`);
const DAYS = weekdays("2024-11-01", "2024-12-14");
/** The first session that the nights below request: Thursday, 2024-12-12, of which only Monday's week and month are older. */
const TONIGHT = DAYS.at(-2) as number;

interface Day {
  readonly at: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
}

/** The days of a symbol, whose prices go up and down. */
function daysOf(symbol: string): Day[] {
  const seed = Number.parseInt(symbol, 10) % 100;
  return DAYS.map((at, n) => {
    const [open, close] = [n, n + 1].map(
      (day) => Math.round(2000 + 300 * Math.sin(seed + day * 0.7)) / 100,
    ) as [number, number];
    return { at, open, close, high: Math.max(open, close) + 0.05, low: Math.min(open, close) - 0.05 };
  });
}

/** One bar of the days of a period so far, labelled with the last of them. */
function joined(days: readonly Day[]): Day {
  const [first, last] = [days[0] as Day, days.at(-1) as Day];
  const [high, low] = [Math.max(...days.map((day) => day.high)), Math.min(...days.map((day) => day.low))];
  return { at: last.at, open: first.open, high, low, close: last.close };
}

const wire = (days: readonly Day[]): Bars => ({
  timestamp: days.map(({ at }) => at),
  open: days.map(({ open }) => open),
  high: days.map(({ high }) => high),
  low: days.map(({ low }) => low),
  close: days.map(({ close }) => close),
  volume: days.map(() => 100),
  amount: days.map(({ close }) => close * 1e4),
});

/** A service that gives the bars that a function makes of the days before an end. */
const giving =
  (end: number, make: (days: readonly Day[]) => readonly Day[]): Script =>
  (seen: Seen, response) => {
    const [start, last] = [Number(seen.query.get("start_time")), Number(seen.query.get("end_time"))];
    const of = (symbol: string): Bars =>
      wire(make(daysOf(symbol).filter(({ at }) => at < end)).filter(({ at }) => at >= start && at <= last));
    const symbols = (seen.query.get("symbols") ?? "").split(",");
    json(response, 200, { data: Object.fromEntries(symbols.map((symbol) => [symbol, of(symbol)])) });
  };

const since = (date: string) => {
  const start = Date.parse(`${date}T00:00:00+08:00`);
  return (days: readonly Day[]): Day[] => days.filter(({ at }) => at >= start);
};
const night = { symbols: SYMBOLS, lookbackDays: 3 };

/** A lake with the days before tonight, and the time after tonight's session. */
async function nightlyMarket() {
  const market = await scriptedMarket(
    giving(TONIGHT, (days) => days),
    "2024-12-12T00:00:00Z",
  );
  expect(await market.run(DAILY, night)).toMatchObject({ status: "complete" });
  market.clock.advance(DAY_MS);
  const bars = () => queryLake(market.lake, "SELECT count(*)::INT AS n FROM bars_1d");
  return { ...market, bars };
}

test.each([
  ["week", "2024-12-09"],
  ["month", "2024-12-02"],
])("the %s that has not ended is not the day of its last session", async (_, first) => {
  const { service, clock, run, bars } = await nightlyMarket();
  const before = await bars();
  service.script = giving(TONIGHT + DAY_MS, (days) => [joined(since(first)(days))]);
  const report = await run(DAILY, night);
  expect(report).toMatchObject({ status: "partial", rows: 0, requests: { sent: 2 } });
  expect(report.completeness[0]?.setAside).toHaveLength(SYMBOLS.length);
  expect(report.completeness[0]?.withdrawn).toEqual([]);
  expect(await bars()).toEqual(before);
  service.script = giving(TONIGHT + DAY_MS, (days) => days);
  clock.advance(1000);
  expect(await run(DAILY, night)).toMatchObject({ status: "complete" });
  expect(await bars()).toEqual([{ n: SYMBOLS.length * (DAYS.length - 1) }]);
});

test("a day lands although the service has forgotten the sessions before it", async () => {
  const { service, run, bars } = await nightlyMarket();
  service.script = giving(TONIGHT + DAY_MS, (days) => days.slice(-1));
  expect(await run(DAILY, night)).toMatchObject({ status: "complete", rows: SYMBOLS.length });
  expect(await bars()).toEqual([{ n: SYMBOLS.length * (DAYS.length - 1) }]);
});
