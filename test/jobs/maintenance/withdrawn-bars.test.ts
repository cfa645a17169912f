import { expect, test } from "vitest";
import { checkSample, type SampleReport } from "../../../src/jobs/maintenance/check-sample.js";
import { type WithdrawnReport, withdrawnBars } from "../../../src/jobs/maintenance/withdrawn-bars.js";
import type { PipelineDefinition } from "../../../src/jobs/pipeline/definition.js";
import { BARS_1D } from "../../../src/schema/bars.js";
import { json } from "../../faults/service/scripted-service.js";
import { queryLake } from "../../lake/temporary-lake.js";
import { newestBars, weekdays } from "../minute-market.js";
import { filledMarket } from "../scripted-market.js";

const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-01" };
const DAYS = weekdays("2024-01-01", "2024-03-02");
const GONE = DAYS[20] as number;
const DAY = 86_400_000;
const WINDOW = { start: DAYS[0] as number, end: (DAYS.at(-1) as number) + DAY };
const SYMBOLS = ["600519.SH", "000001.SZ"];

/** A lake with daily bars of two symbols, and a service that has withdrawn one of them since. */
async function withdrawnMarket(cap = 10_000) {
  const state: { market: Record<string, readonly number[]>; cap: number } = {
    market: { "600519.SH": DAYS, "000001.SZ": DAYS },
    cap: 10_000,
  };
  const parts = await filledMarket(
    (seen, response) => json(response, 200, { data: newestBars(seen, state.market, state.cap) }),
    "2024-03-02T12:00:00Z",
    { filledBy: import.meta.url, name: "daily" },
    (run) => run(DAILY, { symbols: SYMBOLS }),
  );
  state.market = { ...state.market, "600519.SH": DAYS.filter((day) => day !== GONE) };
  state.cap = cap;
  const { lake, client, clock } = parts;
  const environment = { lake, client, clock, signal: new AbortController().signal };
  const sample = (): Promise<SampleReport> => checkSample(environment, { part: 1 });
  const withdrawn = (accept: boolean, symbols = SYMBOLS): Promise<WithdrawnReport> =>
    withdrawnBars(environment, BARS_1D, { symbols, window: WINDOW }, accept);
  const bars = async (pointInTime = {}): Promise<number> => {
    const [row] = await queryLake<{ n: number }>(lake, "SELECT count(*)::INT AS n FROM bars_1d", pointInTime);
    return row?.n ?? 0;
  };
  return { ...parts, state, sample, withdrawn, bars };
}

const ALL = 2 * DAYS.length;

test("a withdrawn bar is found, and leaves the current version once it is accepted; older versions still have it", async () => {
  const { lake, sample, withdrawn, bars } = await withdrawnMarket();
  expect((await sample()).tables[0]).toMatchObject({ bars: ALL, counts: { changed: 0, gone: 1, new: 0 } });
  const { version } = await lake.snapshot(BARS_1D);
  const time = new Date(GONE).toISOString();
  const found = { symbol: "600519.SH", bars: 1, first: time, last: time };
  expect(await withdrawn(false)).toMatchObject({ bars: ALL - 1, withdrawn: [found], accepted: undefined });
  expect((await lake.snapshot(BARS_1D)).version).toBe(version);
  expect(await bars()).toBe(ALL);
  const { accepted } = await withdrawn(true);
  expect(accepted).toEqual({ rows: 1, version: version + 1 });
  expect(await bars()).toBe(ALL - 1);
  expect(await bars({ versions: new Map([["bars_1d", version]]) })).toBe(ALL);
  expect((await sample()).tables[0]).toMatchObject({ counts: { changed: 0, gone: 0, new: 0 } });
  expect((await withdrawn(true)).withdrawn).toEqual([]);
});

test("a sample pages back like an ingest: what a small cap cuts off is not gone", async () => {
  const { sample, withdrawn } = await withdrawnMarket(7);
  expect((await sample()).tables[0]).toMatchObject({ bars: ALL, counts: { changed: 0, gone: 1, new: 0 } });
  expect((await withdrawn(false)).withdrawn).toMatchObject([{ symbol: "600519.SH", bars: 1 }]);
});

test("a bar in two requests counts once", async () => {
  const { clock, run, sample } = await withdrawnMarket();
  clock.advance(13 * 3_600_000);
  await run(DAILY, { symbols: SYMBOLS, lookbackDays: 30 });
  const { tables, deviations } = await sample();
  expect(tables[0]?.asked).toBeGreaterThan(1);
  expect(tables[0]).toMatchObject({ bars: ALL, counts: { gone: 1 } });
  expect(deviations).toHaveLength(1);
});

test("one empty response withdraws nothing", async () => {
  const { service, sample, withdrawn } = await withdrawnMarket();
  const right = service.script;
  let isEmpty = true;
  service.script = (seen, response, index) => {
    if (!isEmpty) return right(seen, response, index);
    isEmpty = false;
    json(response, 200, { data: {} });
  };
  expect((await sample()).tables[0]?.counts.gone).toBe(1);
  isEmpty = true;
  expect((await withdrawn(false)).withdrawn).toMatchObject([{ symbol: "600519.SH", bars: 1 }]);
});

test.each([
  ["no bars", {}],
  ["bars of another symbol only", { "699999.SH": DAYS }],
])("responses with %s withdraw nothing, however often they come", async (_, market) => {
  const { state, service, sample, withdrawn, bars } = await withdrawnMarket();
  state.market = market;
  if ("699999.SH" in market)
    service.script = (seen, response) => {
      seen.query.set("symbols", "699999.SH");
      json(response, 200, { data: newestBars(seen, market) });
    };
  await expect(withdrawn(true)).rejects.toThrow(/no response shows whether the service has its bars/);
  expect(await bars()).toBe(ALL);
  const { failures, tables } = await sample();
  expect(failures).toMatchObject([expect.stringMatching(/no response shows/)]);
  expect(tables[0]?.counts.gone).toBe(0);
});

test("responses with an older window of a symbol do not withdraw its bars", async () => {
  const { service, withdrawn, bars } = await withdrawnMarket();
  service.script = (seen, response) => {
    const data = newestBars(seen, { "600519.SH": DAYS, "000001.SZ": DAYS });
    const own: { timestamp?: number[] } = data["600519.SH"] ?? {};
    own.timestamp = own.timestamp?.map((at) => at - 100 * DAY) ?? [];
    json(response, 200, { data });
  };
  await expect(withdrawn(true)).rejects.toThrow(/600519.SH: no response shows/);
  expect(await bars()).toBe(ALL);
});

test("a symbol whose bars are all gone is withdrawn next to one that has bars", async () => {
  const { state, withdrawn, bars } = await withdrawnMarket();
  state.market = { "000001.SZ": DAYS };
  // Another symbol of the lake is requested, too, and its bars are not compared.
  expect(await withdrawn(true, ["600519.SH"])).toMatchObject({ bars: 0, accepted: { rows: DAYS.length } });
  expect(await bars()).toBe(DAYS.length);
});

test("a run says of the days that it asks for again which bars the service no longer has", async () => {
  const { state, clock, run, bars } = await withdrawnMarket();
  state.market = { ...state.market, "000001.SZ": DAYS.slice(0, -1) };
  clock.advance(13 * 3_600_000);
  const report = await run(DAILY, { symbols: SYMBOLS, lookbackDays: 3 });
  expect(report.status).toBe("complete");
  const start = DAYS.at(-3);
  expect(report.completeness[0]?.withdrawn).toMatchObject([
    { symbol: "000001.SZ", window: { start }, bars: 1 },
  ]);
  expect(await bars()).toBe(ALL);
});

test("a run reports it of responses that a cap has cut, and of the requests for older bars", async () => {
  const { state, clock, run } = await withdrawnMarket();
  state.cap = 4;
  state.market = {
    ...state.market,
    "000001.SZ": DAYS.filter((_, n) => ![-2, -9, -10].includes(n - DAYS.length)),
  };
  clock.advance(13 * 3_600_000);
  const { status, completeness } = await run(DAILY, { symbols: SYMBOLS, lookbackDays: 12 });
  expect(status).toBe("complete");
  const found = completeness[0]?.withdrawn ?? [];
  expect(new Set(found.map(({ symbol }) => symbol))).toEqual(new Set(["000001.SZ"]));
  expect(found.reduce((sum, { bars }) => sum + bars, 0)).toBe(3);
});

test("a run says it of recent days that it asks for together with days before the first bar", async () => {
  const { state, clock, run } = await withdrawnMarket();
  state.market = { ...state.market, "000001.SZ": DAYS.slice(0, -1) };
  clock.advance(13 * 3_600_000);
  // The days before those of the first run are requested, too, in the same request.
  const earlier = { ...DAILY, from: "2023-11-01" };
  const { completeness } = await run(earlier, { symbols: SYMBOLS, lookbackDays: 50 });
  expect(completeness[0]?.withdrawn).toMatchObject([
    { symbol: "000001.SZ", bars: 1 },
    { symbol: "600519.SH", bars: 1 },
  ]);
});

test("a bar that a run sets aside is not withdrawn", async () => {
  const { service, clock, run } = await withdrawnMarket();
  service.script = (seen, response) => {
    const data = newestBars(seen, { "600519.SH": DAYS, "000001.SZ": DAYS });
    const own: Record<string, unknown[]> | undefined = data["600519.SH"];
    own?.close?.splice(-1, 1, null);
    json(response, 200, { data });
  };
  clock.advance(13 * 3_600_000);
  const { status, completeness } = await run(DAILY, { symbols: SYMBOLS, lookbackDays: 3 });
  expect(status).toBe("partial");
  expect(completeness[0]).toMatchObject({ withdrawn: [], setAside: [{ symbol: "600519.SH" }] });
});

test.each([
  ["a high below its low", { high: 1 }],
  ["a null", { close: null }],
])("a bar that the service gives with %s is not withdrawn", async (_, bad) => {
  const { service, withdrawn, bars } = await withdrawnMarket();
  service.script = (seen, response) => {
    const data = newestBars(seen, { "600519.SH": DAYS, "000001.SZ": DAYS });
    const own: Record<string, unknown[]> | undefined = data["600519.SH"];
    for (const [name, value] of Object.entries(bad)) if (own?.[name]) own[name][20] = value;
    json(response, 200, { data });
  };
  expect(await withdrawn(true)).toMatchObject({ withdrawn: [], accepted: undefined });
  expect(await bars()).toBe(ALL);
});
