import * as zlib from "node:zlib";
import { request } from "undici";
import { describe, expect, test } from "vitest";
import { BARS_1D } from "../../src/schema/bars.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../src/schema/reference.js";
import { acceptedCoding, CODINGS } from "../../src/serve/http/routes.js";
import { addKey, keyFile } from "../../src/serve/keys/key-records.js";
import { StoredKeys } from "../../src/serve/keys/key-ring.js";
import { temporaryFolder } from "../lake/temporary-lake.js";
import { KEY, landReference, landRows, NOW, serveForTest } from "./served-lake.js";

const DAY = 86_400_000;
const bars = (symbol: string, days: number) =>
  Array.from({ length: days }, (_, n) => ({
    symbol,
    timestamp: Date.parse("2023-12-31T16:00:00Z") + n * DAY,
    open: 10,
    high: 11,
    low: 9,
    close: 10 + n / 100,
    volume: 100,
    amount: 1000,
  }));
const KLINES = "/v1/klines/batch?symbols=600000.SH&adjust=none";

describe("compression", () => {
  const raw = async (url: string, headers: Record<string, string>) => {
    const { headers: received, body } = await request(url + KLINES, {
      headers: { "x-api-key": KEY, ...headers },
    });
    return { headers: received, bytes: Buffer.from(await body.arrayBuffer()) };
  };

  test("is for clients that accept it, of bodies that are worth it; the response is the same", async () => {
    const { service } = await serveForTest((lake) => landRows(lake, BARS_1D, bars("600000.SH", 100)));
    const plain = await raw(service.url, {});
    expect(plain.headers["content-encoding"]).toBeUndefined();
    expect(plain.headers.vary).toBe("accept, accept-encoding");
    const packed = await raw(service.url, { "accept-encoding": "br, gzip;q=0.5" });
    expect(packed.headers["content-encoding"]).toBe("gzip");
    expect(packed.bytes.length).toBeLessThan(plain.bytes.length / 2);
    expect(zlib.gunzipSync(packed.bytes)).toEqual(plain.bytes);
    const short = await request(`${service.url}${KLINES}&count=1`, {
      headers: { "x-api-key": KEY, "accept-encoding": "gzip" },
    });
    expect(short.headers["content-encoding"]).toBeUndefined();
    await short.body.dump();
  });

  test("is zstd where this Node has it, for clients that name it", async () => {
    const { service } = await serveForTest((lake) => landRows(lake, BARS_1D, bars("600000.SH", 100)));
    const { headers, bytes } = await raw(service.url, { "accept-encoding": "gzip, deflate, br, zstd" });
    const hasZstd = "zstdCompress" in zlib;
    expect(headers["content-encoding"]).toBe(hasZstd ? "zstd" : "gzip");
    expect(CODINGS.has("zstd")).toBe(hasZstd);
    const zstd = zlib as unknown as { zstdDecompressSync: (body: Buffer) => Buffer };
    const plain = hasZstd ? zstd.zstdDecompressSync(bytes) : zlib.gunzipSync(bytes);
    expect(plain).toEqual((await raw(service.url, {})).bytes);
  });

  test.each([
    ["gzip", "gzip"],
    ["x-gzip", "gzip"],
    ["*", "gzip"],
    ["deflate, GZIP ; q=0.1", "gzip"],
    ["gzip;q=0", undefined],
    ["*, gzip;q=0", undefined],
    ["*;q=0", undefined],
    ["gzip;q=nonsense", undefined],
    ["br", undefined],
    ["gzipped", undefined],
    ["", undefined],
    [undefined, undefined],
    ["gzip, deflate, br, zstd", "zstd"],
    ["zstd;q=0.5, gzip;q=0.8", "gzip"],
    ["zstd;q=0, *", "gzip"],
  ])("accept-encoding %s: %s", (header, expected) => {
    expect(acceptedCoding(header, ["zstd", "gzip"])).toBe(expected);
  });

  test("a coding that this Node has not is not used", () => {
    expect(acceptedCoding("zstd", ["gzip"])).toBeUndefined();
    expect(acceptedCoding("gzip, zstd", ["gzip"])).toBe("gzip");
  });
});

describe("a response that has not changed", () => {
  test("is not sent again: until the tables that it comes from change", async () => {
    const { ask, lake } = await serveForTest((empty) => landRows(empty, BARS_1D, bars("600000.SH", 3)));
    const first = await ask(KLINES);
    const tag = first.headers.get("etag") ?? "";
    expect(tag).toMatch(/^"[\w-]{22}"$/);
    for (const header of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      const again = await ask(KLINES, { headers: { "if-none-match": header } });
      expect([header, again.status, again.body, again.headers.get("etag")]).toEqual([header, 304, null, tag]);
    }
    expect((await ask(KLINES, { headers: { "if-none-match": '"other"' } })).status).toBe(200);
    expect((await ask(`${KLINES}&count=1`, { headers: { "if-none-match": tag } })).status).toBe(200);
    await landRows(lake, BARS_1D, bars("600000.SH", 4).slice(3));
    const changed = await ask(KLINES, { headers: { "if-none-match": tag } });
    expect(changed.status).toBe(200);
    expect(changed.headers.get("etag")).not.toBe(tag);
  });

  test("an error has no tag, and neither has a quote: it depends on the time", async () => {
    const { ask } = await serveForTest((empty) => landRows(empty, BARS_1D, bars("600000.SH", 3)));
    expect((await ask("/v1/quotes?symbols=600000.SH")).headers.get("etag")).toBeNull();
    const refused = await ask(`${KLINES}&period=2d`);
    expect([refused.status, refused.headers.get("etag")]).toEqual([400, null]);
  });

  test("keys that may see other symbols have other tags", async () => {
    const path = `${temporaryFolder()}/keys.json`;
    const whole = await addKey(keyFile(path), "whole", {}, NOW);
    const part = await addKey(keyFile(path), "part", { universes: ["u"] }, NOW);
    const keys = await StoredKeys.open(keyFile(path), { now: () => NOW, sleep: async () => {} }, () => {});
    const { ask } = await serveForTest(
      async (lake) => {
        const stock = { code: "600000", exchange: "SH", region: "CN", type: "stock" };
        await landReference(lake, INSTRUMENTS, [{ ...stock, symbol: "600000.SH" }]);
        await landReference(lake, UNIVERSES, [
          { id: "u", name: "u", category: "c", symbol_count: 0, region: "CN" },
          { id: "v", name: "v", category: "c", symbol_count: 1, region: "CN" },
        ]);
        await landReference(lake, UNIVERSE_MEMBERS, [{ id: "v", symbol: "600000.SH", region: "CN" }]);
      },
      { keys },
    );
    const by = (key: string, tag = "") =>
      ask("/v1/universes", { headers: { "x-api-key": key, "if-none-match": tag } });
    const tag = (await by(whole)).headers.get("etag") ?? "";
    expect((await by(whole, tag)).status).toBe(304);
    expect((await by(part, tag)).status).toBe(200);
  });
});

test("metrics count requests by endpoint and status; an unknown path has no separate label", async () => {
  const { ask, service } = await serveForTest((empty) => landRows(empty, BARS_1D, bars("600000.SH", 3)));
  await ask(KLINES);
  await ask(KLINES);
  await ask(`${KLINES}&count=x`);
  await ask("/nowhere/at/all");
  await ask(KLINES, { headers: { "x-api-key": "wrong" } });
  const response = await fetch(`${service.url}/metrics`);
  const text = await response.text();
  expect(response.headers.get("content-type")).toContain("text/plain");
  const endpoint = 'endpoint="GET /v1/klines/batch"';
  expect(text).toContain(`barlake_service_requests_total{${endpoint},status="200"} 2`);
  expect(text).toContain(`barlake_service_requests_total{${endpoint},status="400"} 1`);
  expect(text).toContain(`barlake_service_requests_total{${endpoint},status="401"} 1`);
  expect(text).toContain('barlake_service_requests_total{endpoint="none",status="404"} 1');
  expect(text).toContain(`barlake_service_request_duration_seconds_count{${endpoint}} 4`);
  expect(text).toMatch(/barlake_service_sent_bytes_total\{endpoint="GET \/v1\/klines\/batch"\} [1-9]/);
  expect(text).toContain("barlake_service_requests_in_flight 1");
  expect(text).not.toContain("nowhere");
  expect(text).not.toContain(KEY);
});
