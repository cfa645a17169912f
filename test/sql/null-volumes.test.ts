import { existsSync, readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { openLake } from "../../src/api/lake/open-lake.js";
import type { Lake } from "../../src/lake/lake.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import { addFile } from "../lake/bar-files.js";
import { openSession, temporaryFolder, temporaryLake } from "../lake/temporary-lake.js";
import { serve } from "../serve/served-lake.js";

/** Of each symbol, what its bars of Thursday and Friday traded: volume, amount, and the shares in a unit of volume. */
const TRADED = {
  "000001.SZ": ["NULL, 50::DOUBLE, 100", "NULL, NULL, 1"],
  "00700.HK": ["7, NULL, 1", "NULL, 50::DOUBLE, 1"],
  "600519.SH": ["NULL, 50::DOUBLE, 1", "300, 50::DOUBLE, 1"],
};
const DAYS = ["2026-03-05", "2026-03-06"];

/** A file of bars at a local time of each day, and a file without nulls in the year or month before. */
async function addBars(lake: Lake, table: typeof BARS_1D, times: readonly [string, string]): Promise<void> {
  const session = await openSession();
  const isMinutes = table === BARS_1M;
  const span = isMinutes ? ["2026-02-01", "2026-03-01"] : ["2025-01-01", "2026-01-01"];
  const [before, own] = span.map((date) => (isMinutes ? date : date.slice(0, 4)));
  for (const region of ["CN", "HK"]) {
    const rows = (dates: readonly (readonly [date: string, time: string])[], traded?: string): string => {
      const symbols = Object.entries(TRADED).filter(
        ([symbol]) => symbol.endsWith(".HK") === (region === "HK"),
      );
      const values = symbols.flatMap(([symbol, bars]) =>
        dates.map(([date, time], n) => `('${symbol}', DATE '${date}', TIME '${time}', ${traded ?? bars[n]})`),
      );
      return `SELECT symbol, CAST(day + local AS TIMESTAMP) AT TIME ZONE 'Asia/Shanghai' AS "timestamp", day AS trade_date,
          10::DOUBLE AS open, 11::DOUBLE AS high, 9::DOUBLE AS low, 10::DOUBLE AS close, volume::BIGINT AS volume, amount,
          NULL::DOUBLE AS open_interest, CASE WHEN day = '${DAYS[1]}' THEN 8 ELSE 10 END::DOUBLE AS prev_close,
          NULL::DOUBLE AS settlement_price, lot::INTEGER AS lot, true AS is_final
        FROM (VALUES ${values.join(", ")}) bars(symbol, day, local, volume, amount, lot)
        ORDER BY symbol, "timestamp"`;
    };
    const partition = (value = ""): Record<string, string> => ({
      region,
      [table.span?.partition ?? ""]: value,
    });
    const earlier = isMinutes ? "2026-02-27" : "2025-12-30";
    await addFile(session, lake, table, rows([[earlier, times[0]]], "100, 50::DOUBLE, 1"), partition(before));
    // Minutes are of one day, and make one bar.
    const days = DAYS.map((day, n) => [isMinutes ? (DAYS[1] as string) : day, times[n] as string] as const);
    await addFile(session, lake, table, rows(days), partition(own));
  }
}

async function lakeOfNulls(): Promise<Lake> {
  const lake = temporaryLake();
  await addBars(lake, BARS_1D, ["00:00", "00:00"]);
  await addBars(lake, BARS_1M, ["09:31", "09:32"]);
  return lake;
}

const OF_FRIDAY = "trade_date = DATE '2026-03-06' ORDER BY symbol, \"timestamp\"";
const bars = (source: string): string =>
  `SELECT symbol, volume, shares, amount FROM ${source} WHERE ${OF_FRIDAY}`;
const bar = (
  symbol: string,
  volume: number | null,
  shares: number | null,
  amount: number | null,
): object => ({
  symbol,
  volume,
  shares,
  amount,
});
const OF_DAYS = [
  bar("000001.SZ", null, null, null),
  bar("00700.HK", null, null, 50),
  bar("600519.SH", 3, 300, 50),
];
/** Bars of several days or minutes: sums of what is known. */
const SUMS = [bar("000001.SZ", null, null, 50), bar("00700.HK", 7, 7, 50), bar("600519.SH", 3, 300, 100)];
const QUERIES: Readonly<Record<string, readonly object[]>> = {
  [`SELECT symbol, shares, vwap FROM bars_1d WHERE ${OF_FRIDAY}`]: [
    { symbol: "000001.SZ", shares: null, vwap: null },
    { symbol: "00700.HK", shares: null, vwap: null },
    { symbol: "600519.SH", shares: 300, vwap: 50 / 300 },
  ],
  [`SELECT symbol, shares FROM bars_1m WHERE ${OF_FRIDAY}`]: [
    ...[null, null].map((shares) => ({ symbol: "000001.SZ", shares })),
    ...[7, null].map((shares) => ({ symbol: "00700.HK", shares })),
    ...[null, 300].map((shares) => ({ symbol: "600519.SH", shares })),
  ],
  [`SELECT symbol, shares FROM daily_status WHERE ${OF_FRIDAY.replace(', "timestamp"', "")}`]: OF_DAYS.map(
    (one) => ({ symbol: (one as { symbol: string }).symbol, shares: (one as { shares: unknown }).shares }),
  ),
  [bars("adjusted('1d', 'none')")]: OF_DAYS,
  [bars("adjusted('1d', 'forward')")]: OF_DAYS,
  [bars("adjusted('1d', 'backward', as_of := DATE '2026-03-09')")]: OF_DAYS,
  [bars("adjusted('5m', 'none')")]: SUMS,
  [bars("adjusted('60m', 'backward')")]: SUMS,
  [bars("adjusted('60m', 'forward', as_of := DATE '2026-03-09')")]: SUMS,
  [bars("adjusted('1w', 'none')")]: SUMS,
  [bars("adjusted('1M', 'forward')")]: SUMS,
};

test("a bar of another program without a volume has no shares, in data files as in the copy for SQL", async () => {
  const lake = await lakeOfNulls();
  const options = { hasDatabase: false, threads: 1 };
  const folder = temporaryFolder();
  await using plain = openLake(lake.location, { ...options, segments: false });
  await using copied = openLake(lake.location, { ...options, segments: { folder, copyFrom: 1 } });
  await copied.buildSegments(["bars_1d", "bars_1m"]);
  expect(existsSync(folder) && readdirSync(folder, { recursive: true }).join()).toMatch(/\.duckdb/);
  for (const [query, expected] of Object.entries(QUERIES)) {
    expect((await plain.query(query)).rows(), query).toEqual(expected);
    expect((await copied.query(query)).rows(), `${query}, of the copy`).toEqual(expected);
  }
  for (const table of ["bars_1d", "bars_1m"])
    for (const adjust of [undefined, "none", "backward"] as const) {
      const read = { symbols: Object.keys(TRADED), adjust };
      expect((await copied.read(table, read)).rows()).toEqual((await plain.read(table, read)).rows());
    }
});

test("the service gives a volume of 0 for a bar without one", async () => {
  const lake = await lakeOfNulls();
  const folder = temporaryFolder();
  {
    await using open = openLake(lake.location, { segments: { folder } });
    await open.buildSegments(["bars_1d", "bars_1m"]);
  }
  const volumesOf = async (segments: { readonly folder: string } | false): Promise<unknown> => {
    const { service, ask } = await serve(lake, { segments });
    const found: Record<string, unknown> = {};
    for (const symbol of Object.keys(TRADED))
      for (const period of ["1d", "1m", "5m", "1w"]) {
        const path = `/v1/klines?symbol=${symbol}&period=${period}&count=2`;
        const { status, body } = await ask<{ data: { volume: number[] } }>(path);
        expect(status).toBe(200);
        found[`${symbol} ${period}`] = body.data.volume;
      }
    await service.close();
    return found;
  };
  const expected = {
    "000001.SZ 1d": [0, 0],
    "000001.SZ 1m": [0, 0],
    "000001.SZ 5m": [1, 0],
    "000001.SZ 1w": [1, 0],
    "00700.HK 1d": [7, 0],
    "00700.HK 1m": [7, 0],
    "00700.HK 5m": [100, 7],
    "00700.HK 1w": [100, 7],
    "600519.SH 1d": [0, 3],
    "600519.SH 1m": [0, 3],
    "600519.SH 5m": [1, 3],
    "600519.SH 1w": [1, 3],
  };
  expect(await volumesOf(false)).toEqual(expected);
  expect(await volumesOf({ folder })).toEqual(expected);
});
