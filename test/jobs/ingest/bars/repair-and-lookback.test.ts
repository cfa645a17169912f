import { expect, test } from "vitest";
import { lakeCoverage } from "../../../../src/jobs/ledger/lake-coverage.js";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { loadPipeline } from "../../../../src/jobs/pipeline/load-pipeline.js";
import { openReader } from "../../../../src/lake/open-reader.js";
import { json, type Script, type Seen } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { minutes, newestBars, weekdays } from "../../minute-market.js";
import { barsOn, scriptedMarket } from "../../scripted-market.js";

const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-08" };
const HOUR = 3_600_000;
/** Midnights in Shanghai of the trading dates from 2024-01-08, a Monday, to 12. */
const DAYS = ["07", "08", "09", "10", "11"].map((day) => Date.parse(`2024-01-${day}T16:00:00Z`));

const right: Script = (seen, response) => json(response, 200, { data: barsOn(DAYS, seen) });

function asked({ query }: Seen): { symbols: string; from: string; to: string } {
  const iso = (name: string, plus = 0): string =>
    new Date(Number(query.get(name)) + plus).toISOString().slice(0, 16);
  return { symbols: query.get("symbols") ?? "", from: iso("start_time"), to: iso("end_time", 1) };
}

test("repair fills what failed, of the symbols asked for before, and asks for nothing else", async () => {
  const { service, run } = await scriptedMarket(
    (seen, response, index) =>
      seen.query.get("symbols") === "601398.SH" ? json(response, 500, "{}") : right(seen, response, index),
    "2024-01-13T00:00:00Z",
  );
  expect(await run(DAILY, { symbols: ["600519.SH"] })).toMatchObject({ status: "complete" });
  expect(await run(DAILY, { symbols: ["601398.SH"] })).toMatchObject({ status: "failed" });
  const before = service.seen.length;
  service.script = right;
  const repaired = await run(DAILY, { repair: true });
  expect(repaired).toMatchObject({ status: "complete", rows: 5, requests: { sent: 1 } });
  expect(service.seen.slice(before).map(asked)).toEqual([
    { symbols: "601398.SH", from: "2024-01-07T16:00", to: "2024-01-12T16:00" },
  ]);
  expect((await run(DAILY, { repair: true })).requests.sent).toBe(0);
});

test("an earlier time that was requested of one symbol is no gap of the others, and repair asks nothing for it", async () => {
  const { service, run, lake, clock } = await scriptedMarket(right, "2024-01-13T00:00:00Z");
  await run({ ...DAILY, from: "2024-01-10" }, { symbols: ["600519.SH", "601398.SH"] });
  await run(DAILY, { symbols: ["600519.SH"] });
  const { session } = await openReader(lake, { threads: 1 });
  using reader = session;
  expect(await lakeCoverage({ session: reader, lake, clock })).toMatchObject([
    { symbols: 2, first: "2024-01-08", expected: 8, answered: 8, gaps: [] },
  ]);
  const before = service.seen.length;
  expect(await run(DAILY, { repair: true })).toMatchObject({ status: "complete" });
  expect(service.seen.slice(before)).toEqual([]);
});

test("repair in a lake that was never asked for anything asks for nothing", async () => {
  const { service, run } = await scriptedMarket(right, "2024-01-13T00:00:00Z");
  expect(await run(DAILY, { repair: true })).toMatchObject({ status: "complete", requests: { sent: 0 } });
  expect(service.seen).toEqual([]);
});

test("lookback asks again for the last days: what the service corrected is merged and reported", async () => {
  const { service, clock, lake, run } = await scriptedMarket(right, "2024-01-13T00:00:00Z");
  await run(DAILY, { symbols: ["600519.SH"] });
  clock.advance(13 * HOUR);
  service.script = (seen, response) => json(response, 200, { data: barsOn(DAYS, seen, 9.5) });
  const again = await run(DAILY, { symbols: ["600519.SH"], lookbackDays: 2 });
  expect(asked(service.seen.at(-1) as Seen)).toMatchObject({ from: "2024-01-10T16:00" });
  expect(again.landed).toMatchObject([{ table: "bars_1d", inserted: 0, updated: 2, unchanged: 0 }]);
  expect(again.landed[0]?.sample[0]?.changed).toMatchObject({ close: { from: "10.0", to: "9.5" } });
  expect(await queryLake(lake, "SELECT close FROM bars_1d ORDER BY trade_date")).toEqual(
    [10, 10, 10, 9.5, 9.5].map((close) => ({ close })),
  );
});

test("lookback counts trading days: on a Monday, those before the weekend, too", async () => {
  const { service, clock, run } = await scriptedMarket(right, "2024-01-13T00:00:00Z");
  await run(DAILY, { symbols: ["600519.SH"] });
  clock.advance(60 * HOUR);
  await run(DAILY, { symbols: ["600519.SH"], lookbackDays: 2 });
  expect(asked(service.seen[1] as Seen)).toMatchObject({ from: "2024-01-11T16:00" });
});

test("lookback leaves alone what was asked for within the last 12 hours", async () => {
  const { service, clock, run } = await scriptedMarket(right, "2024-01-13T00:00:00Z");
  await run(DAILY, { symbols: ["600519.SH"] });
  clock.advance(11 * HOUR);
  expect((await run(DAILY, { symbols: ["600519.SH"], lookbackDays: 3 })).requests.sent).toBe(0);
  clock.advance(2 * HOUR);
  expect((await run(DAILY, { symbols: ["600519.SH"], lookbackDays: 3 })).requests.sent).toBe(1);
  expect(service.seen).toHaveLength(2);
});

test("minutes of a day that broke off are whole after the next night's run of the built-in pipeline", async () => {
  const days = weekdays("2024-01-08", "2024-01-13");
  const [thursday, friday] = days.slice(-2) as [number, number];
  let known = thursday + 14.5 * HOUR;
  const { run, service, clock, lake } = await scriptedMarket((seen, response) => {
    const published = minutes(days).filter((ms) => ms <= known);
    json(response, 200, { data: newestBars(seen, { "600519.SH": published }) });
  }, "2024-01-11T11:00:00Z");
  const minute = await loadPipeline("minute");
  const demand = { from: "2024-01-08", symbols: ["600519.SH"] };
  const counts = "SELECT count(*)::INT AS bars FROM bars_1m GROUP BY trade_date ORDER BY trade_date";
  expect(await run(minute, demand)).toMatchObject({ status: "complete" });
  expect(await queryLake(lake, counts)).toEqual([240, 240, 240, 210].map((bars) => ({ bars })));
  known = friday + 15 * HOUR;
  clock.advance(24 * HOUR);
  expect(await run(minute, demand)).toMatchObject({ status: "complete", requests: { sent: 1 } });
  expect(asked(service.seen.at(-1) as Seen)).toMatchObject({ from: "2024-01-10T16:00" });
  expect(await queryLake(lake, counts)).toEqual([240, 240, 240, 240, 240].map((bars) => ({ bars })));
});
