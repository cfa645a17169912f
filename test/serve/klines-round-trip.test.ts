import { afterAll, beforeAll, expect, test } from "vitest";
import { ServiceClient } from "../../src/client/service-client.js";
import type { TradingDate } from "../../src/core/time.js";
import { definePipeline } from "../../src/jobs/pipeline/definition.js";
import { runPipeline } from "../../src/jobs/run/run-pipeline.js";
import type { Lake } from "../../src/lake/lake.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { KEY, NOW, newLake, type Served, serve } from "./served-lake.js";

const END = "2026-11-20" as TradingDate;
const market = simulateMarket({ seed: 5, symbols: 12, days: 40, end: END });
const symbols = market.instruments.map(({ symbol }) => symbol);
const source = newLake();
let upstream: Served;

beforeAll(async () => {
  await fillLake(source.lake, market, { minuteDays: 0, runId: "sim", now: NOW });
  upstream = await serve(source.lake);
});
afterAll(async () => {
  await upstream.service.close();
  source.remove();
});

/** Ingests the daily bars into a lake. */
async function ingest(lake: Lake): Promise<void> {
  const clock = virtualClock(new Date(NOW).toISOString());
  const client = new ServiceClient({ baseUrl: upstream.service.url, apiKey: KEY, clock, timeoutMs: 0 });
  const pipeline = definePipeline({ name: "daily", kind: "bars", period: "1d", from: "2026-09-01" });
  const report = await runPipeline(pipeline, { symbols }, { lake, client, clock });
  expect(report.status).toBe("complete");
  await client.close();
}

const barsOf = async ({ ask }: Served): Promise<unknown> => {
  const { body } = await ask(`/v1/klines/batch?symbols=${symbols.join(",")}&count=10000&adjust=none`);
  return body;
};

test("the lake of a run against barlake serves the bars of the lake that was asked", async () => {
  const { lake, remove } = newLake();
  await ingest(lake);
  const served = await serve(lake);
  const bars = await barsOf(served);
  expect(Object.keys((bars as { data: object }).data)).toHaveLength(symbols.length);
  expect(bars).toEqual(await barsOf(upstream));
  await served.service.close();
  remove();
});
