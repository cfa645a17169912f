import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openLake } from "../../../src/api/lake/open-lake.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { temporaryFolder } from "../../lake/temporary-lake.js";
import { type LandedBar, landRows, newLake, serve } from "../served-lake.js";

const DAY_MS = 86_400_000;
const PRICES = { open: 10, high: 11.5, low: 9.25, close: 10.5, amount: 1234.5 };

/**
 * Daily bars from 2025-12-22 on, in two years, with volumes in three units and columns that are null in parts. Two
 * symbols pause for a day, so that they have as many bars as the others, at other times.
 */
function dailyBars(): LandedBar[] {
  const first = Date.parse("2025-12-21T16:00:00Z");
  return ["600519.SH", "000001.SZ", "00700.HK", "600000.SH", "600036.SH"].flatMap((symbol, at) =>
    Array.from({ length: 20 }, (_, day) => ({
      ...PRICES,
      symbol,
      timestamp: first + (at > 2 && day > 6 ? day + 1 : day) * DAY_MS,
      volume: 1000 * at + day * 7,
      lot: [1, 100, 10][(at + day) % 3] as number,
      settlement_price: day % 4 === 0 ? 10.25 : null,
      // Two ex-events each of two symbols.
      prev_close: at === 1 ? 10.5 : day % 9 === 5 ? 10 + at / 10 : null,
    })),
  );
}

/**
 * Minutes of two days after the last daily bar; one symbol has none on the second day. Some bars have no trades, and
 * prices of 0.
 */
function minuteBars(): LandedBar[] {
  const minutes = (symbol: string, first: string, length: number, lot: number): LandedBar[] =>
    Array.from({ length }, (_, n) => ({
      ...PRICES,
      symbol,
      timestamp: Date.parse(first) + n * 60_000,
      ...(n % 5 === 0 ? { open: 0, high: 0, low: 0 } : { high: 11 + (n % 7), low: 10 - (n % 3) }),
      close: 10 + n / 8,
      volume: n * 33,
      lot,
      prev_close: n % 3 === 0 ? 10.125 : null,
    }));
  return [
    ...minutes("600519.SH", "2026-01-12T01:31:00Z", 60, 100),
    ...minutes("600519.SH", "2026-01-13T01:31:00Z", 30, 100),
    ...minutes("000001.SZ", "2026-01-12T01:31:00Z", 45, 1),
    ...minutes("00700.HK", "2026-01-13T01:31:00Z", 20, 1),
  ];
}

const at = (text: string): number => Date.parse(text);
/** Windows of the past, and the newest bars: of one table or the other. */
const PATHS = [
  `/v1/klines/batch?symbols=600519.SH,00700.HK,000001.SZ&period=1d&start_time=${at("2025-12-25")}&end_time=${at("2026-01-05")}`,
  `/v1/klines/batch?symbols=600519.SH,000001.SZ,600000.SH,600036.SH,00700.HK&period=1d&end_time=${at("2026-01-20")}`,
  `/v1/klines/batch?symbols=000001.SZ,600036.SH&period=1d&start_time=${at("2026-01-02")}&end_time=${at("2026-01-20")}`,
  "/v1/klines/batch?symbols=00700.HK&period=1d&count=7",
  "/v1/klines?symbol=000001.SZ&period=1d&count=1000",
  `/v1/klines?symbol=600519.SH&period=1m&start_time=${at("2026-01-12T01:40:00Z")}&end_time=${at("2026-01-12T02:05:00Z")}`,
  `/v1/klines?symbol=600519.SH&period=1m&start_time=${at("2026-01-12T02:00:00Z")}&end_time=${at("2026-01-13T02:05:00Z")}`,
  "/v1/klines?symbol=600519.SH&period=1m&count=11",
  "/v1/klines/batch?symbols=00700.HK,600519.SH,000001.SZ&period=1m&count=70",
];

/** What is asked of the latest day: it has a block of its own in segments of minutes. */
const OF_THE_DAY = [
  "/v1/klines/intraday?symbol=600519.SH&count=300",
  "/v1/klines/intraday/batch?symbols=600519.SH,00700.HK&count=12",
  "/v1/quotes?symbols=600519.SH,000001.SZ,00700.HK",
];

/** Every path as it was traded; adjusted, those of days. */
const REQUESTS = [
  ...PATHS.map((path) => `${path}&adjust=none`),
  ...["forward", "backward", "forward_additive", "backward_additive"].flatMap((adjust) =>
    PATHS.map((path) => `${path}&adjust=${adjust}`),
  ),
  ...OF_THE_DAY,
];

test("windows come from segments as from the data files", async () => {
  const { lake, remove } = newLake();
  try {
    await landRows(lake, BARS_1D, dailyBars());
    await landRows(lake, BARS_1M, minuteBars());
    const expected: unknown[] = [];
    const plain = await serve(lake, { segments: false });
    for (const path of REQUESTS) {
      const { status, body } = await plain.ask(path);
      expect(status, path).toBe(200);
      expect(JSON.stringify(body)).toContain("timestamp");
      expected.push(body);
    }
    await plain.service.close();
    const segments = { folder: temporaryFolder() };
    {
      await using open = openLake(lake.location, { segments });
      await open.buildSegments(["bars_1d", "bars_1m"]);
    }
    // What is read from the data files is an error from now on.
    for (const table of [BARS_1D, BARS_1M])
      for (const file of (await lake.snapshot(table)).files.keys())
        writeFileSync(join(lake.location, table.name, file), "damaged");
    const fast = await serve(lake, { segments });
    for (const [n, path] of REQUESTS.entries()) {
      const { status, body } = await fast.ask(path);
      expect(status, path).toBe(200);
      expect(body, path).toEqual(expected[n]);
    }
    const { status } = await fast.ask("/v1/klines?symbol=600519.SH&period=5m&count=3&adjust=none");
    expect(status).toBe(500);
    await fast.service.close();
  } finally {
    remove();
  }
});
