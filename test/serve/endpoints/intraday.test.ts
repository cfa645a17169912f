import { expect, test } from "vitest";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../../src/schema/reference.js";
import { landedBar, landReference, landRows, listed, serveForFile, serveForTest } from "../served-lake.js";
import { goldenResponses } from "./golden-responses.js";

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

goldenResponses(served, "intraday");

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
