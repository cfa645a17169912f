import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ServiceClient } from "../../src/client/service-client.js";
import type { TradingDate } from "../../src/core/time.js";
import { definePipeline } from "../../src/jobs/pipeline/definition.js";
import { runPipeline } from "../../src/jobs/run/run-pipeline.js";
import type { Lake } from "../../src/lake/lake.js";
import { BARS_1D } from "../../src/schema/bars.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import { ENDPOINTS } from "../../src/wire/endpoints.js";
import { ARROW_STREAM } from "../../src/wire/media-type.js";
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

/** A server between client and service: it notes what is asked for and sent, and may drop the offer of Arrow streams. */
async function between(passesOffer: boolean, cutsFirst = 0) {
  const seen: { accept: string | undefined; type: string | null }[] = [];
  let left = cutsFirst;
  const pass = async ({ url, headers }: IncomingMessage, reply: ServerResponse): Promise<void> => {
    const { accept } = headers;
    const response = await fetch(upstream.service.url + url, {
      headers: { "x-api-key": KEY, accept: accept ?? "*/*", "accept-encoding": "identity" },
    });
    const type = response.headers.get("content-type");
    const body = Buffer.from(await response.arrayBuffer());
    seen.push({ accept, type });
    const link = response.headers.get("link");
    reply.writeHead(response.status, {
      "content-type": type ?? "",
      ...(passesOffer && link !== null && { link }),
    });
    const isCut = type === ARROW_STREAM && left-- > 0;
    reply.end(isCut ? body.subarray(0, body.length >> 1) : body);
  };
  const server = createServer((request, reply) => void pass(request, reply));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    [Symbol.dispose]: () => void server.close(),
  };
}

/** Ingests the daily bars into a new lake, after a first request for bars. */
async function ingest(lake: Lake, baseUrl: string): Promise<void> {
  const clock = virtualClock(new Date(NOW).toISOString());
  const client = new ServiceClient({ baseUrl, apiKey: KEY, clock, timeoutMs: 0 });
  const query = { symbols: symbols[0] as string, count: 1 };
  await client.ask({ endpoint: ENDPOINTS.klinesBatch, query }, async (body) => {
    for await (const _ of body);
  });
  const pipeline = definePipeline({ name: "daily", kind: "bars", period: "1d", from: "2026-09-01" });
  const report = await runPipeline(pipeline, { symbols }, { lake, client, clock });
  expect(report.status).toBe("complete");
  await client.close();
}

/** The bars of a lake, as it serves them, and the data of its files: the names have the hashes of the contents. */
async function barsOf(lake: Lake): Promise<unknown> {
  const { service, ask } = await serve(lake);
  const { body } = await ask(`/v1/klines/batch?symbols=${symbols.join(",")}&count=10000&adjust=none`);
  await service.close();
  const { files } = await lake.snapshot(BARS_1D);
  return { body, bytes: [...files.values()].map(({ size, partitionValues }) => [size, partitionValues]) };
}

test.each([0, 1])(
  "a run asks barlake for Arrow, any other service for JSON, and the lakes are equal (%i cut)",
  async (cuts) => {
    const [arrow, json] = [newLake(), newLake()];
    using offering = await between(true, cuts);
    using silent = await between(false);
    await ingest(arrow.lake, offering.url);
    await ingest(json.lake, silent.url);
    expect(new Set(silent.seen.map(({ accept }) => accept))).toEqual(new Set(["application/json"]));
    expect(offering.seen[0]).toEqual({ accept: "application/json", type: "application/json; charset=utf-8" });
    const later = offering.seen.slice(1).filter(({ type }) => type === ARROW_STREAM);
    expect(later.length).toBeGreaterThan(cuts);
    const bars = await barsOf(arrow.lake);
    expect(bars).toEqual(await barsOf(json.lake));
    expect((bars as { bytes: unknown[] }).bytes.length).toBeGreaterThan(0);
    arrow.remove();
    json.remove();
  },
);
