import { describe, expect, test } from "vitest";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import type { Klines } from "../reference-klines.js";
import { landedBar, landReference, landRows, listed, serveForFile, serveForTest } from "../served-lake.js";

const cn = (text: string): number => Date.parse(`${text}:00+08:00`);
const ny = (text: string): number => Date.parse(`${text}:00-04:00`);

const bar = (symbol: string, timestamp: number, price = 10) =>
  landedBar(symbol, timestamp, price, { volume: 3, amount: 30 });

const served = serveForFile(async (lake) => {
  await landRows(lake, BARS_1M, [
    bar("600000.SH", cn("2024-03-14T15:00")),
    bar("600000.SH", cn("2024-03-15T09:31"), 11),
    bar("600000.SH", cn("2024-03-15T09:32"), 12),
    bar("600000.SH", cn("2024-03-15T15:00"), 13),
    bar("600001.SH", cn("2024-03-14T15:00")),
    // A New York evening that is already the next day in UTC.
    bar("AAPL.US", ny("2024-03-13T16:00")),
    bar("AAPL.US", ny("2024-03-13T20:00"), 14),
  ]);
  await landReference(lake, INSTRUMENTS, [listed("600002.SH")]);
  await landReference(lake, UNIVERSES, [
    { id: "mixed", name: "Mixed", category: "test", symbol_count: 4, region: "CN" },
    { id: "one", name: "One", category: "test", symbol_count: 1, region: "CN" },
  ]);
  await landReference(
    lake,
    UNIVERSE_MEMBERS,
    ["600000.SH", "600001.SH", "600002.SH", "AAPL.US"]
      .map((symbol) => ({ id: "mixed", symbol, region: "CN" }))
      .concat([{ id: "one", symbol: "600000.SH", region: "CN" }]),
  );
});

describe("of one symbol", () => {
  const intraday = (query: string) => served.ask<{ data: Klines }>(`/v1/klines/intraday?${query}`);

  test("are the minutes of its region's latest trading day", async () => {
    const { body } = await intraday("symbol=600000.SH");
    expect(body.data.timestamp).toEqual(
      ["09:31", "09:32", "15:00"].map((clock) => cn(`2024-03-15T${clock}`)),
    );
    expect((await intraday("symbol=AAPL.US")).body.data.close).toEqual([10, 14]);
    expect((await intraday("symbol=600001.SH")).body.data.timestamp).toEqual([]);
    expect((await intraday("symbol=600002.SH")).body.data.timestamp).toEqual([]);
  });

  test("are cut to count, and aggregated to minute periods alone", async () => {
    expect((await intraday("symbol=600000.SH&count=1")).body.data.close).toEqual([13]);
    expect((await intraday("symbol=600000.SH&count=0")).body.data.close).toEqual([]);
    expect((await intraday("symbol=600000.SH&period=60m")).body.data).toMatchObject({
      timestamp: [cn("2024-03-15T10:30"), cn("2024-03-15T15:00")],
      open: [11, 13],
      close: [12, 13],
      volume: [6, 3],
    });
    expect((await intraday("symbol=600000.SH&period=1d")).body).toEqual({
      code: "INVALID_PERIOD",
      message: "period is not one of 1m, 5m, 10m, 15m, 30m, 60m",
    });
    expect((await intraday("symbol=600000.SH&period=1x")).body).toMatchObject({ code: "INVALID_PERIOD" });
  });

  test("of an unknown symbol are not found", async () => {
    for (const symbol of ["600009.SH", "nonsense", "%27%3B--", "AAPL.MARS"]) {
      const { status, body } = await intraday(`symbol=${symbol}`);
      expect(status).toBe(404);
      expect(body).toMatchObject({ code: "SYMBOL_NOT_FOUND" });
    }
    expect((await intraday("")).body).toEqual({ code: "INVALID_PARAMETER", message: "symbol is required" });
  });
});

describe("of universes", () => {
  type Body = { data: Readonly<Record<string, Klines>> };
  const universe = (query: string) => served.ask<Body>(`/v1/klines/intraday/universe?${query}`);

  test("are each member's newest two minutes of its region's latest day", async () => {
    const { body } = await universe("universes=mixed");
    expect(Object.keys(body.data)).toEqual(["600000.SH", "600001.SH", "600002.SH", "AAPL.US"]);
    expect(body.data["600000.SH"]?.close).toEqual([12, 13]);
    expect(body.data["600001.SH"]?.close).toEqual([]);
    expect(body.data["AAPL.US"]?.close).toEqual([10, 14]);
  });

  test("are cut to count and window", async () => {
    const all = await universe("universes=one,mixed&count=99999");
    expect(all.body.data["600000.SH"]?.close).toEqual([11, 12, 13]);
    const [start, end] = [cn("2024-03-15T09:31"), cn("2024-03-15T09:32")];
    const cut = await universe(`universes=one&start_time=${start}&end_time=${end}`);
    expect(cut.body.data["600000.SH"]?.close).toEqual([11, 12]);
    const before = await universe(`universes=one&end_time=${cn("2024-03-14T23:00")}`);
    expect(before.body.data["600000.SH"]?.close).toEqual([]);
    expect((await universe("universes=one&count=0")).body.data["600000.SH"]?.close).toEqual([]);
  });

  test("that are not known have no members", async () => {
    expect((await universe("universes=nobody")).body).toEqual({ data: {} });
    expect((await universe("")).body).toEqual({
      code: "INVALID_PARAMETER",
      message: "universes is required",
    });
  });
});

test("a lake without minutes has no intraday data, and says so", async () => {
  const { ask } = await serveForTest((own) =>
    landRows(own, BARS_1D, [bar("600000.SH", cn("2024-03-15T00:00"))]),
  );
  for (const path of ["/v1/klines/intraday?symbol=600000.SH", "/v1/klines/intraday/universe?universes=x"]) {
    const { status, body } = await ask(path);
    expect(status).toBe(503);
    expect(body).toEqual({ code: "INTRADAY_UNAVAILABLE", message: "the lake has no minute bars" });
  }
  // The symbol is known by its daily bars, so that it has an entry, and no bars.
  const none = { timestamp: [], open: [], high: [], low: [], close: [], volume: [], amount: [] };
  const { status, body } = await ask("/v1/klines/batch?symbols=600000.SH,600001.SH&period=5m");
  expect([status, body]).toEqual([200, { data: { "600000.SH": none } }]);
  expect((await ask("/v1/klines?symbol=600000.SH&period=1m")).body).toEqual({ data: none });
  expect((await ask("/v1/klines?symbol=600001.SH&period=1m")).status).toBe(404);
});

test("an empty lake answers without data", async () => {
  const { ask, post } = await serveForTest(async () => {});
  expect((await ask("/v1/klines/batch?symbols=600000.SH")).body).toEqual({ data: {} });
  for (const path of ["/v1/universes", "/v1/exchanges", "/v1/instruments?symbols=600000.SH"]) {
    expect((await ask(path)).body).toEqual({ data: [] });
  }
  expect((await ask("/v1/financials/cash-flow?symbols=600000.SH")).status).toBe(404);
  expect((await post("/v1/quotes", { symbols: ["600000.SH"] })).body).toEqual({ data: [] });
});
