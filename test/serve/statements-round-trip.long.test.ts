import { expect, onTestFinished, test } from "vitest";
import { ServiceClient } from "../../src/client/service-client.js";
import type { TradingDate } from "../../src/core/time.js";
import { definePipeline } from "../../src/jobs/pipeline/definition.js";
import { runPipeline } from "../../src/jobs/run/run-pipeline.js";
import { STATEMENT_NAMES } from "../../src/schema/statements.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import { ENDPOINTS } from "../../src/wire/endpoints.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { KEY, NOW, newLake, serve } from "./served-lake.js";

const FINANCIALS = Object.values(ENDPOINTS).filter(({ group }) => group === "financials");
const END = "2026-11-20" as TradingDate;

/** The responses of a lake's service about all statements of some symbols, as texts. */
async function responsesOf(url: string, symbols: readonly string[]): Promise<string[]> {
  const texts = [];
  for (const { path } of FINANCIALS) {
    const response = await fetch(`${url}${path}?symbols=${symbols.join(",")}`, {
      headers: { "x-api-key": KEY },
    });
    expect(response.status).toBe(200);
    texts.push(await response.text());
  }
  return texts;
}

test("what one lake serves of five statements, another that ingests it serves byte for byte; the simulation agrees", async () => {
  const market = simulateMarket({ seed: 11, symbols: 16, days: 300, end: END });
  const [source, copy] = [newLake(), newLake()];
  onTestFinished(() => {
    source.remove();
    copy.remove();
  });
  await fillLake(source.lake, market, { minuteDays: 0, runId: "sim", now: NOW });
  const stocks = market.instruments.filter(({ type }) => type === "stock").map(({ symbol }) => symbol);
  const upstream = await serve(source.lake);
  onTestFinished(() => upstream.service.close());
  const clock = virtualClock(new Date(NOW).toISOString());
  const client = new ServiceClient({
    baseUrl: upstream.service.url,
    apiKey: KEY,
    clock,
    retries: 0,
    timeoutMs: 0,
  });
  onTestFinished(() => client.close());
  const pipeline = definePipeline({ name: "financials", kind: "statements" });
  const report = await runPipeline(pipeline, { symbols: stocks }, { lake: copy.lake, client, clock });
  expect(report.status).toBe("complete");
  expect(report.landed.map(({ table }) => table)).toEqual([...STATEMENT_NAMES]);
  const downstream = await serve(copy.lake);
  onTestFinished(() => downstream.service.close());
  const served = await responsesOf(upstream.service.url, stocks);
  expect(await responsesOf(downstream.service.url, stocks)).toEqual(served);
  const known = stocks.filter(
    (symbol) => !market.instruments.some((one) => one.symbol === symbol && one.delisted),
  );
  for (const [index, kind] of STATEMENT_NAMES.entries()) {
    const { data } = JSON.parse(served[index] as string) as {
      data: Record<string, Record<string, unknown>[]>;
    };
    const expected = market.statements(kind, known, END);
    expect(expected.size).toBeGreaterThan(5);
    for (const [symbol, records] of expected) {
      expect(data[symbol]).toHaveLength(records.length);
      for (const [at, record] of records.entries()) expect(data[symbol]?.[at]).toMatchObject(record);
    }
  }
});
