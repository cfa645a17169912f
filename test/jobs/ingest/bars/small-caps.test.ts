import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import { json } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { type BarTimes, minutes, newestBars, weekdays } from "../../minute-market.js";
import { scriptedMarket } from "../../scripted-market.js";

const NOW = "2023-05-20T00:00:00Z";
const FROM = "2023-02-01";
const MINUTE: PipelineDefinition = { name: "minute", kind: "bars", period: "1m", from: FROM };
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: FROM };
const DAYS = weekdays(FROM, "2023-05-20");
const TIMES = minutes(DAYS);

/** A market whose service gives at most `cap` bars of a symbol per request. */
async function cappedMarket(market: BarTimes, cap: number) {
  const limits = { cap };
  const parts = await scriptedMarket(
    (seen, response) => json(response, 200, { data: newestBars(seen, market, limits.cap) }),
    NOW,
  );
  const counts = async (table: string): Promise<Record<string, number>> => {
    const rows = await queryLake<{ symbol: string; n: number }>(
      parts.lake,
      `SELECT symbol, count(*)::INT AS n FROM ${table} GROUP BY symbol ORDER BY symbol`,
    );
    return Object.fromEntries(rows.map(({ symbol, n }) => [symbol, n]));
  };
  return { ...parts, limits, counts };
}

test("a service that gives fewer bars than the cap that was learned: the window is paged back until it is whole", async () => {
  const { limits, run, counts } = await cappedMarket({ "600519.SH": TIMES }, 5000);
  limits.cap = 1000;
  const known = { rowCap: { "1m": 5000 } } as const;
  await run(MINUTE, { symbols: ["600519.SH", "600520.SH", "600521.SH"] }, undefined, known);
  expect(await counts("bars_1m")).toEqual({ "600519.SH": TIMES.length });
});

test.each([400, 7])("a fresh lake, one symbol, and a cap of %i bars", async (cap) => {
  const times = cap < 100 ? minutes(DAYS.slice(-2)).slice(0, 300) : TIMES.slice(-3000);
  const { run, counts } = await cappedMarket({ "600519.SH": times }, cap);
  const from = cap < 100 ? "2023-05-18" : "2023-05-01";
  await run({ ...MINUTE, from }, { symbols: ["600519.SH"] });
  const expected = times.filter((ms) => ms >= Date.parse(`${from}T00:00:00+08:00`)).length;
  expect(await counts("bars_1m")).toEqual({ "600519.SH": expected });
});

test("symbols that were listed within the window, each at another time, and a cap that cuts the oldest of them", async () => {
  const market = Object.fromEntries(
    Array.from({ length: 12 }, (_, n) => [`${600_000 + n}.SH`, DAYS.slice(5 * n)]),
  );
  const { service, run, counts } = await cappedMarket(market, 40);
  await run(DAILY, { symbols: Object.keys(market) });
  expect(await counts("bars_1d")).toEqual(
    Object.fromEntries(Object.entries(market).map(([symbol, days]) => [symbol, days.length])),
  );
  const sent = service.seen.length;
  expect(sent).toBeLessThan(8);
  expect((await run(DAILY, { symbols: Object.keys(market) })).requests.sent).toBe(0);
});

test.each([
  ["nothing", () => ({})],
  ["a symbol that nobody asked for", (bars: object) => ({ "600000.SH": bars })],
])("a look for older bars that is answered with %s settles nothing", async (_, wrong) => {
  let sent = 0;
  const { service, run, counts } = await cappedMarket({ "600519.SH": DAYS }, 30);
  const right = service.script;
  service.script = (seen, response, index) => {
    if (++sent !== 2) return right(seen, response, index);
    json(response, 200, { data: wrong(newestBars(seen, { "600519.SH": DAYS })["600519.SH"] ?? {}) });
  };
  expect((await run(DAILY, { symbols: ["600519.SH"] })).status).toBe("complete");
  expect(await counts("bars_1d")).toEqual({ "600519.SH": DAYS.length });
});
