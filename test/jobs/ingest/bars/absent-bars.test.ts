import { expect, test } from "vitest";
import type { PipelineDefinition } from "../../../../src/jobs/pipeline/definition.js";
import type { RunOptions, RunReport } from "../../../../src/jobs/run/run-pipeline.js";
import { json, type Script, type Seen } from "../../../faults/service/scripted-service.js";
import { queryLake } from "../../../lake/temporary-lake.js";
import { type BarTimes, barsAt, newestBars, weekdays } from "../../minute-market.js";
import { scriptedMarket } from "../../scripted-market.js";

const NOW = "2024-02-03T00:00:00Z";
const DAY = 86_400_000;
const DAYS = weekdays("2024-01-01", "2024-02-03");
const DAILY: PipelineDefinition = { name: "daily", kind: "bars", period: "1d", from: "2024-01-01" };
const SYMBOLS = ["600519.SH", "000001.SZ"];
const MARKET = { "600519.SH": DAYS, "000001.SZ": DAYS };

const EMPTY: Script = (_, response) => json(response, 200, { data: {} });

function right(market: BarTimes): Script {
  return (seen, response) => json(response, 200, { data: newestBars(seen, market) });
}

async function marketOf(script: Script) {
  const parts = await scriptedMarket(script, NOW);
  // No two runs send requests in the same millisecond.
  const daily = (options: RunOptions = {}): Promise<RunReport> => {
    parts.clock.advance(1000);
    return parts.run(DAILY, { symbols: SYMBOLS, ...options });
  };
  const counts = async (table = "bars_1d"): Promise<Record<string, number>> => {
    const rows = await queryLake<{ symbol: string; n: number }>(
      parts.lake,
      `SELECT symbol, count(*)::INT AS n FROM ${table} GROUP BY symbol ORDER BY symbol`,
    );
    return Object.fromEntries(rows.map(({ symbol, n }) => [symbol, n]));
  };
  return { ...parts, daily, counts };
}

const WHOLE = { "000001.SZ": DAYS.length, "600519.SH": DAYS.length };
const askedFor = ({ query }: Seen): string | null => query.get("symbols");

test("what remains unexplained is requested after growing waits, makes the runs incomplete, and repair requests it at once", async () => {
  const { service, clock, daily, counts } = await marketOf(EMPTY);
  const to = { to: "2024-02-03" };
  await daily(to);
  // Days since the previous run, and whether it sends a request.
  const waits = [
    [0, true],
    [0.5, false],
    [0.5, true],
    [1, false],
    [1, true],
    [3, false],
    [1, true],
  ] as const;
  for (const [days, asks] of waits) {
    clock.advance(days * DAY);
    const before = service.seen.length;
    const report = await daily(to);
    expect(report.status).toBe("partial");
    expect(report.completeness[0]?.unexplained).toHaveLength(2);
    expect([days, service.seen.length > before]).toEqual([days, asks]);
  }
  service.script = right(MARKET);
  expect((await daily(to)).requests.sent).toBe(0);
  expect(await daily({ symbols: undefined, repair: true })).toMatchObject({ status: "complete" });
  expect(await counts()).toEqual(WHOLE);
});

test("a symbol that is absent where others come is believed for 30 days, and explained in the report", async () => {
  const { service, clock, daily } = await marketOf(right({ "600519.SH": DAYS }));
  const report = await daily();
  expect(report).toMatchObject({ status: "complete", requests: { sent: 1 } });
  expect(report.completeness).toEqual([
    {
      dataset: "bars_1d",
      asked: { symbols: 2, sessions: 2 * DAYS.length, start: expect.any(Number) },
      received: { bars: DAYS.length },
      absent: [{ reason: "others_came", symbols: 1, sessions: DAYS.length }],
      unexplained: [],
      setAside: [],
      withdrawn: [],
    },
  ]);
  const to = { to: "2024-02-03" };
  expect((await daily(to)).requests.sent).toBe(0);
  clock.advance(31 * DAY);
  // Requested alone it is absent as before, which counts as explained, too.
  expect(await daily(to)).toMatchObject({ status: "complete", requests: { sent: 2 } });
  expect(service.seen.slice(1).map(askedFor)).toEqual(["000001.SZ", "000001.SZ"]);
});

test("a symbol that is asked for a second time, and then comes cut, is paged back in the same run", async () => {
  const days = weekdays("2022-01-03", "2024-02-03");
  const market = { "600519.SH": days, "000001.SZ": days };
  const old = weekdays("2021-06-01", "2021-06-15");
  let sent = 0;
  const parts = await scriptedMarket((seen, response) => {
    const data = newestBars(seen, market, 400);
    if (sent++ === 0) data["600519.SH"] = barsAt(old);
    json(response, 200, { data });
  }, NOW);
  const report = await parts.run({ ...DAILY, from: "2022-01-03" }, { symbols: SYMBOLS });
  expect(report).toMatchObject({ status: "complete", rows: 2 * days.length });
  expect((await parts.run({ ...DAILY, from: "2022-01-03" }, { symbols: SYMBOLS })).requests.sent).toBe(0);
});
