import type { ServerResponse } from "node:http";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { ServiceClient } from "../../src/client/service-client.js";
import { WireError } from "../../src/core/errors.js";
import { decodeKlines } from "../../src/wire/decode/decode-klines.js";
import { ENDPOINTS } from "../../src/wire/endpoints.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { type Script, startScripted } from "../faults/service/scripted-service.js";

const ROWS = 20_000;
const row = Array.from({ length: ROWS }, (_, k) => k);
const BARS = JSON.stringify({
  data: {
    "600519.SH": { timestamp: row, open: row, high: row, low: row, close: row, volume: row, amount: row },
  },
});

async function setUp(script: Script) {
  const service = await startScripted(script);
  const clock = virtualClock("2026-11-21T00:00:00Z");
  const options = { apiKey: "key", clock, retries: 2, backoffMs: 1, timeoutMs: 0 };
  const client = new ServiceClient({ baseUrl: service.url, ...options });
  onTestFinished(() => client.close());
  const bars = (maxBytes = 2 ** 31) =>
    client.ask({ endpoint: ENDPOINTS.klinesBatch }, (body) =>
      decodeKlines(body, { shape: "map", limits: { maxDepth: 8, maxTokenBytes: 1024, maxBytes } }),
    );
  return { service, bars };
}

/** Sends a body in pieces of `size` bytes. */
function sendPieces(response: ServerResponse, body: Uint8Array, size: number): void {
  for (let at = 0; at < body.length; at += size) response.write(body.subarray(at, at + size));
  response.end();
}

const CODINGS: readonly (readonly [header: string, body: Buffer])[] = [
  ["identity", Buffer.from(BARS)],
  ["gzip", gzipSync(BARS)],
  ["x-gzip", gzipSync(BARS)],
  ["GZIP", gzipSync(BARS)],
  ["gzip", Buffer.concat([gzipSync(BARS.slice(0, 1000)), gzipSync(BARS.slice(1000))])],
  ["deflate", deflateSync(BARS)],
  ["deflate", deflateRawSync(BARS)],
  ["br", brotliCompressSync(BARS)],
  ["deflate, gzip", gzipSync(deflateSync(BARS))],
  ["br, identity", brotliCompressSync(BARS)],
];

test.each(CODINGS)("%s is read as it arrives, however it is cut", async (header, body) => {
  for (const pieces of [5000, 10, 1]) {
    const { bars } = await setUp((_, response) => {
      response.writeHead(200, { "content-encoding": header });
      sendPieces(response, body, Math.ceil(body.length / pieces));
    });
    const { value, attempts } = await bars();
    expect([...value.columns.timestamp]).toEqual(row.map(BigInt));
    expect(value.bytes).toBe(BARS.length);
    expect(attempts).toBe(1);
  }
});

test.each(CODINGS.slice(1))("%s that is cut short is requested again", async (header, body) => {
  const { bars } = await setUp((_, response, index) => {
    response.writeHead(200, { "content-encoding": header });
    response.end(index === 0 ? body.subarray(0, body.length - 12) : body);
  });
  const { value, attempts } = await bars();
  expect(value.columns.rows).toBe(ROWS);
  expect(attempts).toBe(2);
});

test.each(["compress", "gzip, gzip, gzip", "__proto__", "constructor"])(
  "%s is not known, and asking again would not change it",
  async (header) => {
    const { bars, service } = await setUp((_, response) => {
      response.writeHead(200, { "content-encoding": header });
      response.end(BARS);
    });
    const error = await bars().catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(WireError);
    expect((error as WireError).message).toContain(`unknown content-encoding "${header}"`);
    expect(service.seen).toHaveLength(1);
  },
);

test("a refusal counts for its status, in any encoding", async () => {
  const { bars, service } = await setUp((_, response, index) => {
    response.writeHead(index === 0 ? 502 : 200, index === 0 ? { "content-encoding": "compress" } : {});
    response.end(BARS);
  });
  expect((await bars()).value.columns.rows).toBe(ROWS);
  expect(service.seen).toHaveLength(2);
});

test("a response that grows beyond the limit is left at once", async () => {
  const bomb = gzipSync(`{"data":${" ".repeat(50_000_000)}{}}`);
  const { bars } = await setUp((_, response) => {
    response.writeHead(200, { "content-encoding": "gzip" });
    response.end(bomb);
  });
  await expect(bars(1_000_000)).rejects.toMatchObject({ kind: "limit", byteOffset: 1_000_000 });
});
