import { expect, onTestFinished, test, vi } from "vitest";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import { MemoryBudgets } from "../../../src/serve/http/memory-budget.js";
import { landReference, NOW, serveForFile, serveForTest } from "../served-lake.js";
import { goldenResponses } from "./golden-responses.js";

const DAY = 86_400_000;

const row = (symbol: string, more: object = {}): Record<string, unknown> => {
  const [code = "", exchange = ""] = symbol.split(".");
  return { symbol, code, exchange, region: exchange === "HK" ? "HK" : "CN", type: "stock", ...more };
};

const FULL = {
  float_shares: 1e9,
  total_shares: 1.5e9,
  limit_up: 11.5,
  limit_down: 9.5,
  tick_size: 0.01,
  listing_date: "1999-11-10",
  name_en: "SPDB",
};

const served = serveForFile(async (lake) => {
  await landReference(lake, INSTRUMENTS, [
    row("600000.SH", { name: "浦发银行", ext_type: "cn_equity", ...FULL, ext_other: '{"board":"main"}' }),
    row("510300.SH", { name: "300ETF", type: "etf" }),
    row("00700.HK", { name: "Tencent", lot_size: 100 }),
    row("600001.SH", { name: "Old name" }),
  ]);
  await landReference(lake, INSTRUMENTS, [row("600001.SH", { name: "New name" })], { now: NOW + DAY });
  await landReference(lake, EXCHANGES, [
    { exchange: "SH", count: 3, region: "CN" },
    { exchange: "BJ", count: 0, region: "CN" },
  ]);
  await landReference(lake, UNIVERSES, [
    { id: "b", name: "B", category: "index", symbol_count: 2, region: "CN", description: "Second" },
    { id: "a", name: "A", category: "index", symbol_count: 1, region: "CN" },
  ]);
  await landReference(lake, UNIVERSE_MEMBERS, [
    { id: "b", symbol: "600000.SH", region: "CN" },
    { id: "b", symbol: "510300.SH", region: "CN" },
    { id: "b", symbol: "600009.SH", region: "CN" },
    { id: "a", symbol: "600000.SH", region: "CN" },
  ]);
  const left = [
    { id: "b", symbol: "600000.SH", region: "CN" },
    { id: "b", symbol: "510300.SH", region: "CN" },
  ];
  await landReference(lake, UNIVERSE_MEMBERS, left, { now: NOW + DAY, complete: "c.id = 'b'" });
});

goldenResponses(served, "reference");

test("instruments and universes are of any number", async () => {
  const symbols = Array.from({ length: 3000 }, (_, n) => `${600_000 + n}.SH`);
  const posted = await served.post("/v1/instruments", { symbols });
  const got = await served.ask(`/v1/instruments?symbols=${symbols.join()}`);
  expect([posted.status, got.status]).toEqual([200, 200]);
  expect(got.body).toEqual(posted.body);
  const ids = Array.from({ length: 1000 }, (_, n) => `x${n}`);
  expect((await served.post("/v1/universes/batch", { ids })).body).toEqual({ data: {} });
});

test("a new version of the reference data is seen by the next request", async () => {
  const { ask, lake: own } = await serveForTest((empty) =>
    landReference(empty, INSTRUMENTS, [row("600000.SH")]),
  );
  const names = async () =>
    (await ask<{ data: { name?: string }[] }>("/v1/instruments?symbols=600000.SH,600001.SH")).body.data.map(
      (one) => one.name,
    );
  expect(await names()).toEqual([undefined]);
  await landReference(own, INSTRUMENTS, [row("600000.SH", { name: "A" }), row("600001.SH", { name: "B" })], {
    now: NOW + DAY,
  });
  expect(await names()).toEqual(["A", "B"]);
});

test("each response with many elements has its part of the memory budget", async () => {
  const take = vi.spyOn(MemoryBudgets.prototype, "take");
  onTestFinished(() => take.mockRestore());
  const rowsOf = async (request: () => Promise<{ readonly status: number }>): Promise<unknown> => {
    take.mockClear();
    expect((await request()).status).toBe(200);
    return take.mock.calls.map(([rows]) => rows);
  };
  const { ask, post } = served;
  const symbols = ["600000.SH", "510300.SH", "999999.SH"];
  const names = symbols.join(",");
  expect(await rowsOf(() => ask(`/v1/instruments?symbols=${names}`))).toEqual([30]);
  expect(await rowsOf(() => post("/v1/instruments", { symbols }))).toEqual([30]);
  expect(await rowsOf(() => ask(`/v1/symbols?symbols=${names}`))).toEqual([30]);
  expect(await rowsOf(() => post("/v1/symbols", { symbols }))).toEqual([30]);
  expect(await rowsOf(() => ask("/v1/exchanges/HK/instruments"))).toEqual([10]);
  expect(await rowsOf(() => ask("/v1/universes/b"))).toEqual([2]);
  expect(await rowsOf(() => post("/v1/universes/batch", { ids: ["a", "b"] }))).toEqual([3]);
  expect(await rowsOf(() => ask(`/v1/klines/ex-factors?symbols=${names}`))).toEqual([90]);
});
