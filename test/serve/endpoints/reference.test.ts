import { describe, expect, onTestFinished, test, vi } from "vitest";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import { MemoryBudgets } from "../../../src/serve/http/memory-budget.js";
import { exchangeSummary, instrument, universeDetail, universeSummary } from "../../../src/wire/resources.js";
import { landReference, NOW, serveForFile, serveForTest } from "../served-lake.js";

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

const BANK = {
  symbol: "600000.SH",
  code: "600000",
  exchange: "SH",
  region: "CN",
  name: "浦发银行",
  type: "stock",
  ext: { type: "cn_equity", ...FULL, board: "main" },
};
const TENCENT = {
  symbol: "00700.HK",
  code: "00700",
  exchange: "HK",
  region: "HK",
  name: "Tencent",
  type: "stock",
  ext: { type: "hk_equity", lot_size: 100 },
};

describe("instruments", () => {
  test("come in the requested order, once each, as they are now", async () => {
    const asked = "600001.SH,nope,600000.SH,00700.HK,600001.SH";
    const { body } = await served.ask<{ data: unknown[] }>(`/v1/instruments?symbols=${asked}`);
    expect(body.data.map((one) => instrument.parse(one))).toEqual([
      { symbol: "600001.SH", code: "600001", exchange: "SH", region: "CN", name: "New name", type: "stock" },
      BANK,
      TENCENT,
    ]);
    const posted = await served.post("/v1/instruments", { symbols: asked.split(",") });
    expect(posted.body).toEqual(body);
  });

  test("of any number of symbols", async () => {
    const symbols = Array.from({ length: 3000 }, (_, n) => `${600_000 + n}.SH`);
    const posted = await served.post("/v1/instruments", { symbols });
    const got = await served.ask(`/v1/instruments?symbols=${symbols.join()}`);
    expect([posted.status, got.status]).toEqual([200, 200]);
    expect(got.body).toEqual(posted.body);
  });

  test("of none are refused, by query and by body", async () => {
    const refusal = { code: "INVALID_PARAMETER", message: "symbols is required" };
    expect((await served.post("/v1/instruments", { symbols: [] })).body).toEqual(refusal);
    for (const query of ["", "?symbols=", "?symbols=,"])
      expect((await served.ask(`/v1/instruments${query}`)).body).toEqual(refusal);
  });
});

test("symbol records say the type as symbol_type", async () => {
  const { type, ...rest } = BANK;
  const expected = { data: [{ ...rest, symbol_type: type }] };
  expect((await served.ask("/v1/symbols?symbols=600000.SH,nope")).body).toEqual(expected);
  expect((await served.post("/v1/symbols", { symbols: ["600000.SH", "nope"] })).body).toEqual(expected);
  expect((await served.post("/v1/symbols", {})).status).toBe(400);
  expect((await served.ask("/v1/symbols")).status).toBe(400);
});

test("universes come as summaries, and in detail with their current members", async () => {
  const a = { id: "a", name: "A", category: "index", region: "CN", symbol_count: 1 };
  const b = { id: "b", name: "B", category: "index", region: "CN", symbol_count: 2, description: "Second" };
  const { body } = await served.ask<{ data: unknown[] }>("/v1/universes");
  expect(body).toEqual({ data: [a, b] });
  for (const one of body.data) universeSummary.parse(one);
  const { body: details } = await served.post<{ data: Record<string, unknown> }>("/v1/universes/batch", {
    ids: ["b", "nope", "a", "b"],
  });
  expect(details).toEqual({
    data: { b: { ...b, symbols: ["510300.SH", "600000.SH"] }, a: { ...a, symbols: ["600000.SH"] } },
  });
  for (const one of Object.values(details.data)) universeDetail.parse(one);
  expect((await served.post("/v1/universes/batch", { ids: [] })).status).toBe(400);
  const ids = Array.from({ length: 1000 }, (_, n) => `x${n}`);
  expect((await served.post("/v1/universes/batch", { ids })).body).toEqual({ data: {} });
});

test("exchanges come with their number of instruments", async () => {
  const { body } = await served.ask<{ data: unknown[] }>("/v1/exchanges");
  expect(body.data.map((one) => exchangeSummary.parse(one))).toEqual([
    { exchange: "BJ", region: "CN", count: 0 },
    { exchange: "SH", region: "CN", count: 3 },
  ]);
});

test("an exchange's instruments come all, or of one type", async () => {
  type Body = { count: number; exchange: string; data: { symbol: string }[] };
  const of = async (path: string) => (await served.ask<Body>(`/v1/exchanges/${path}`)).body;
  const all = await of("SH/instruments");
  expect([all.count, all.exchange]).toEqual([3, "SH"]);
  expect(all.data.map((one) => one.symbol)).toEqual(["510300.SH", "600000.SH", "600001.SH"]);
  const funds = await of("SH/instruments?type=etf");
  expect([funds.count, funds.data.map((one) => one.symbol)]).toEqual([1, ["510300.SH"]]);
  expect(await of("SH/instruments?type=bond")).toEqual({ count: 0, exchange: "SH", data: [] });
  expect(await of("BJ/instruments")).toEqual({ count: 0, exchange: "BJ", data: [] });
  expect(await of("SH/instruments?type=share")).toEqual({
    code: "INVALID_PARAMETER",
    message: "type is not one of stock, etf, index, bond, fund, futures, options, other",
  });
  expect(await of("sh/instruments")).toEqual({ code: "NOT_FOUND", message: 'exchange "sh" is not known' });
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
