import { describe, expect, test } from "vitest";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import type { Klines } from "../reference-klines.js";
import {
  KEY,
  type LandedBar,
  landReference,
  landRows,
  listed,
  serve,
  serveForFile,
  serveForTest,
} from "../served-lake.js";

const DAY = 86_400_000;
/** Local midnight in Shanghai of 2024-01-01. */
const FIRST = Date.parse("2023-12-31T16:00:00Z");
const day = (n: number): number => FIRST + n * DAY;
const minute = (n: number): number => Date.parse("2024-03-15T01:30:00Z") + n * 60_000;

function bar(symbol: string, timestamp: number, price: number, more: Partial<LandedBar> = {}): LandedBar {
  const { open = price, high = price + 0.02, low = price - 0.01, close = price + 0.01 } = more;
  return { symbol, timestamp, open, high, low, close, volume: 7, amount: 700.5, ...more };
}

type Batch = { data: Readonly<Record<string, Klines>> };

/** Asks for bars, unadjusted by default. */
async function batch(query: string): Promise<Batch["data"]> {
  const { status, body } = await served.ask<Batch>(`/v1/klines/batch?adjust=none&${query}`);
  expect(status).toBe(200);
  return body.data;
}
const times = async (query: string): Promise<readonly number[]> =>
  (await batch(`symbols=600000.SH&${query}`))["600000.SH"]?.timestamp ?? [];

const served = serveForFile(async (lake) => {
  await landRows(lake, BARS_1D, [
    ...Array.from({ length: 300 }, (_, n) => bar("600000.SH", day(n), 10 + n / 100)),
    ...Array.from({ length: 5 }, (_, n) => bar("600001.SH", day(-3000 + n), 5 + n)),
    bar("00700.HK", day(3), 300.1, { volume: 12_345 }),
    bar("AAPL.US", Date.parse("2024-01-02T05:00:00Z"), 185.6),
  ]);
  await landRows(lake, BARS_1M, [
    ...Array.from({ length: 10 }, (_, n) => bar("600000.SH", minute(n), 10 + n)),
    bar("600002.SH", minute(3), 3),
  ]);
  await landReference(
    lake,
    INSTRUMENTS,
    ["600000.SH", "600003.SH"].map((symbol) => listed(symbol)),
  );
});

/** The days whose bars are from one number to another, both inclusive. */
const days = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, n) => day(first + n));

test.each<[string, number[]]>([
  ["count=1", days(299, 299)],
  ["", days(200, 299)],
  ["count=null", days(200, 299)],
  ["count=", days(200, 299)],
  ["count=10000", days(0, 299)],
  [`start_time=${day(10)}&end_time=${day(12)}`, days(10, 12)],
  [`start_time=${day(10) + 1}&end_time=${day(12) - 1}`, days(11, 11)],
  [`start_time=${day(10)}&end_time=${day(200)}&count=2`, days(199, 200)],
  [`start_time=${day(0)}&end_time=${day(299)}`, days(200, 299)],
  [`start_time=${day(-5)}&end_time=${day(-1)}`, []],
  [`start_time=${day(300)}`, []],
  [`start_time=${day(12)}&end_time=${day(10)}`, []],
  ["start_time=-9223372036854775808&end_time=9223372036854775807", days(200, 299)],
  ["start_time=null&end_time=", days(200, 299)],
  [`period=1m&start_time=${minute(2)}&end_time=${minute(4)}`, [minute(2), minute(3), minute(4)]],
])("the newest bars of a window, both ends inclusive, ascending: %s", async (query, expected) => {
  expect(await times(query)).toEqual(expected);
});

describe("count", () => {
  test("of 0 gives entries without bars, for known symbols alone", async () => {
    const data = await batch("symbols=600000.SH,600001.SH,600003.SH,600009.SH&count=0");
    expect(Object.keys(data)).toEqual(["600000.SH", "600001.SH", "600003.SH"]);
    const nothing = { timestamp: [], open: [], high: [], low: [], close: [], volume: [], amount: [] };
    expect(data["600000.SH"]).toEqual(nothing);
    expect(data["600003.SH"]).toEqual(nothing);
  });

  test("of 10000 is the most", async () => {
    for (const [count, rule] of [
      ["10001", "is above 10000"],
      ["-1", "is below 0"],
      ["1.5", "is not an integer"],
      ["x", "is not an integer"],
    ]) {
      const { status, body } = await served.ask(`/v1/klines/batch?symbols=600000.SH&count=${count}`);
      expect(status).toBe(400);
      expect(body).toEqual({ code: "INVALID_PARAMETER", message: `count ${rule}` });
    }
  });

  test("finds the newest bars of a symbol that ended years before the others", async () => {
    for (let i = 0; i < 2; i++) {
      const data = await batch("symbols=600000.SH,600001.SH&count=2");
      expect(data["600001.SH"]?.timestamp).toEqual([day(-2997), day(-2996)]);
      expect(data["600000.SH"]?.timestamp).toEqual([day(298), day(299)]);
    }
  });
});

describe("symbols", () => {
  test("come in the requested order, once each; what is not known is left out", async () => {
    const data = await batch(
      "symbols=AAPL.US,600009.SH,600000.SH,,%20AAPL.US%20,00700.HK,nonsense,600003.SH&count=1",
    );
    expect(Object.keys(data)).toEqual(["AAPL.US", "600000.SH", "00700.HK", "600003.SH"]);
    expect(data["600003.SH"]?.timestamp).toEqual([]);
  });

  test("are known by a bar of the asked table alone, or by their metadata", async () => {
    expect(Object.keys(await batch("symbols=600002.SH"))).toEqual([]);
    expect(Object.keys(await batch("symbols=600002.SH&period=1m"))).toEqual(["600002.SH"]);
    const past = await batch(`symbols=600001.SH&start_time=${day(0)}`);
    expect(past["600001.SH"]?.timestamp).toEqual([]);
  });

  test("may be any number, and as many as the service or the key says", async () => {
    const names = Array.from({ length: 5000 }, (_, n) => `${600000 + n}.SH`);
    expect(Object.keys(await batch(`symbols=${names.join()}&count=1`))).toEqual([
      "600000.SH",
      "600001.SH",
      "600003.SH",
    ]);
    const limited = await serve(served.lake, { maxSymbols: 2 });
    const { status, body } = await limited.ask(`/v1/klines/batch?symbols=${names.slice(0, 3).join()}`);
    await limited.service.close();
    expect(status).toBe(400);
    expect(body).toEqual({ code: "INVALID_PARAMETER", message: "symbols has more than 2 entries" });
  });

  test("are not read to their end for a HEAD", async () => {
    const names = Array.from({ length: 3000 }, (_, n) => `${600_000 + n}.SH`);
    const response = await fetch(
      `${served.service.url}/v1/klines/batch?count=10000&symbols=${names.join()}`,
      {
        method: "HEAD",
        headers: { "x-api-key": KEY },
      },
    );
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });

  test("of several blocks come as those of one", async () => {
    const names = Array.from({ length: 1000 }, (_, n) => `${600_000 + n}.SH`);
    const query = "start_time=0&count=";
    const whole = await batch(`symbols=${names.slice(0, 100).join()}&${query}10000`);
    expect(Object.keys(whole).length).toBeGreaterThan(1);
    // 1,000 symbols with at most 10,000 bars each are read in ten blocks.
    expect(await batch(`symbols=${names.toReversed().join()}&${query}10000`)).toEqual(whole);
  });

  test("are required", async () => {
    for (const query of ["", "symbols=", "symbols=,,"]) {
      const { status, body } = await served.ask(`/v1/klines/batch?${query}`);
      expect(status).toBe(400);
      expect(body).toEqual({ code: "INVALID_PARAMETER", message: "symbols is required" });
    }
  });
});

test("an unknown period or adjustment is refused", async () => {
  const period = await served.ask<{ code: string }>("/v1/klines/batch?symbols=600000.SH&period=2d");
  expect([period.status, period.body.code]).toEqual([400, "INVALID_PERIOD"]);
  const adjust = await served.ask("/v1/klines/batch?symbols=600000.SH&adjust=sideways");
  expect(adjust.status).toBe(400);
  expect(adjust.body).toMatchObject({
    code: "INVALID_PARAMETER",
    message: "adjust is not one of forward, backward, forward_additive, backward_additive, none",
  });
});

test("doubles come back bit for bit, and volume in the region's unit", async () => {
  const odd = [0.1 + 0.2, 1e-7, 123_456_789.123_456_7, Number.MAX_SAFE_INTEGER, 5.877_471_754_111_438e-39];
  const { ask } = await serveForTest((own) =>
    landRows(own, BARS_1D, [
      ...odd.map((value, n) =>
        bar("600000.SH", day(n), 1, { open: value, high: value, low: value, close: value, amount: value }),
      ),
      bar("600001.SH", day(0), 1, { volume: 1050, lot: 1 }),
      bar("600001.SH", day(1), 1, { volume: 1049, lot: 1 }),
      bar("600001.SH", day(2), 1, { volume: 49, lot: 1 }),
      bar("600001.SH", day(3), 1, { volume: 9_007_199_254_740_993n, lot: 100 }),
      bar("600001.SH", day(4), 1, { volume: 9_223_372_036_854_775_807n, lot: 1 }),
      bar("AAPL.US", day(0), 1, { volume: 3, lot: 100 }),
      bar("AAPL.US", day(1), 1, { volume: 9_223_372_036_854_775_807n, lot: 100 }),
    ]),
  );
  const { body } = await ask<Batch>("/v1/klines/batch?symbols=600000.SH,600001.SH,AAPL.US&adjust=none");
  const klines = body.data["600000.SH"] as Klines;
  for (const name of ["open", "high", "low", "close", "amount"] as const) expect(klines[name]).toEqual(odd);
  expect(body.data["600001.SH"]?.volume).toEqual([11, 10, 0, 9_007_199_254_740_992, 92_233_720_368_547_760]);
  expect(body.data["AAPL.US"]?.volume).toEqual([300, 2 ** 63]);
});

test("columns that no bar of a symbol has are left out", async () => {
  const { ask } = await serveForTest((own) =>
    landRows(own, BARS_1D, [
      bar("600000.SH", day(0), 1, { prev_close: 0.9 }),
      bar("600000.SH", day(1), 1),
      bar("CU2401.SHF", day(0), 1, { open_interest: 12.5, settlement_price: 1.5 }),
    ]),
  );
  const { body } = await ask<Batch>("/v1/klines/batch?symbols=600000.SH,CU2401.SHF&adjust=none");
  expect(body.data["600000.SH"]?.prev_close).toEqual([0.9, null]);
  expect(body.data["600000.SH"]).not.toHaveProperty("open_interest");
  expect(body.data["CU2401.SHF"]).toMatchObject({ open_interest: [12.5], settlement_price: [1.5] });
  expect(body.data["CU2401.SHF"]).not.toHaveProperty("prev_close");
});
