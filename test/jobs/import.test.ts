import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { ImportOptions } from "../../src/jobs/import/import-options.js";
import { type ImportTable, runImport } from "../../src/jobs/import/run-import.js";
import { Lake } from "../../src/lake/lake.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { queryLake, temporaryFolder } from "../lake/temporary-lake.js";

const clock = virtualClock("2026-11-21T00:00:00Z");

function workplace() {
  const folder = temporaryFolder();
  const lake = new Lake(join(folder, "lake"), { hasDatabase: false });
  let runs = 0;
  return {
    lake,
    file(name: string, content: string | Buffer): string {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    },
    async import(table: ImportTable, files: string[], options: Partial<ImportOptions> = {}) {
      const defaults = { map: {}, volumeUnit: "shares", barLabel: "end", runId: `run-${++runs}` } as const;
      return runImport(lake, table, files, { ...defaults, ...options }, clock);
    },
    query: <Row = Record<string, unknown>>(sql: string): Promise<Row[]> => queryLake<Row>(lake, sql),
  };
}

const HEADER = "timestamp,open,high,low,close,volume,amount\n";

test("each defect of a row is set aside with its line and its reason; the others land", async () => {
  const place = workplace();
  const lines = [
    "1704124800000,10,11,9,10.5,100,1050",
    "1704211200000,10,11,9,10.5,100.5,1050",
    "1704297600000,10,8,9,10.5,100,1050",
    "1704384000000,10,11,9,,100,1050",
    "1704470400000,10,11,9,abc,100,1050",
    "yesterday,10,11,9,10.5,100,1050",
    "1704124800000,10,11,9,10.5,100,1050",
    ",10,11,9,10.5,100,1050",
    "1704556800000,10,11,9,10.5,1e3,",
  ];
  const path = place.file("600519.SH.csv", HEADER + lines.join("\n"));
  const report = await place.import("bars_1d", [path]);
  expect(report.landed).toMatchObject([{ table: "bars_1d", inserted: 2 }]);
  const rejects = await place.query(
    "SELECT line::INT AS line, rule, reason, source FROM rejects ORDER BY line",
  );
  expect(rejects.map((row) => [row.line, row.rule])).toEqual([
    [3, "fraction_in_integer"],
    [4, "high_below_low"],
    [5, "null_in_required"],
    [6, "unparsable"],
    [7, "unparsable"],
    [8, "duplicate_key"],
    [9, "null_in_required"],
  ]);
  expect(rejects[0]).toMatchObject({ reason: "volume 100.5 is not a whole number", source: path });
  expect(rejects[4]).toMatchObject({ reason: 'timestamp "yesterday" is no time' });
  const bars = await place.query("SELECT volume, amount FROM bars_1d ORDER BY trade_date");
  expect(bars).toEqual([
    { volume: 100n, amount: 1050 },
    { volume: 1000n, amount: 0 },
  ]);
});

test("times of digits alone are dates and times of the exchange; what is no time of a market is set aside", async () => {
  const place = workplace();
  const bar = (timestamp: string): string => `${timestamp},10,11,9,10.5,100,1050`;
  const times = [
    "20260302093100",
    "202603020932",
    "1772415180000",
    "-3000000000000",
    "99999999999999",
    "20261302093100",
  ];
  const path = place.file("600519.SH.csv", HEADER + times.map(bar).join("\n"));
  expect((await place.import("bars_1m", [path])).landed).toMatchObject([{ inserted: 3 }]);
  const bars = await place.query("SELECT epoch_ms(timestamp)::DOUBLE AS at FROM bars_1m ORDER BY timestamp");
  expect(bars.map(({ at }) => new Date(at as number).toISOString())).toEqual([
    "2026-03-02T01:31:00.000Z",
    "2026-03-02T01:32:00.000Z",
    "2026-03-02T01:33:00.000Z",
  ]);
  const rejects = await place.query("SELECT line::INT AS line, rule, reason FROM rejects ORDER BY line");
  expect(rejects).toEqual([
    { line: 5, rule: "out_of_range", reason: 'timestamp "-3000000000000" is not of 1900 to 2200' },
    { line: 6, rule: "out_of_range", reason: 'timestamp "99999999999999" is not of 1900 to 2200' },
    { line: 7, rule: "out_of_range", reason: 'timestamp "20261302093100" is not of 1900 to 2200' },
  ]);
});

test("a file with seconds is refused; milliseconds of 1970 land where later bars are there", async () => {
  const place = workplace();
  const bar = (timestamp: number | string): string => `${timestamp},10,11,9,10.5,100,1050`;
  const seconds = place.file(
    "AAPL.US.csv",
    HEADER + [1_772_415_060, 1_772_415_120, "yesterday"].map(bar).join("\n"),
  );
  await expect(place.import("bars_1d", [seconds])).rejects.toThrow(
    `file ${seconds}: timestamp 1772415120 is in seconds`,
  );
  const old = Date.parse("1970-02-03T05:00:00Z");
  const milliseconds = place.file("IBM.US.csv", HEADER + [old, old + 365 * 86_400_000].map(bar).join("\n"));
  expect((await place.import("bars_1d", [milliseconds])).landed).toMatchObject([{ inserted: 2 }]);
});

test("a line that is no CSV is set aside, and the lines after it have their own numbers", async () => {
  const place = workplace();
  const path = place.file(
    "600519.SH.csv",
    `${HEADER}1704124800000,10,11,9,10.5,100,1050\n1704211200000,1,2,3,4,5,6,7,8,9\n1704297600000,10,8,9,10.5,100,1050\n`,
  );
  await place.import("bars_1d", [path]);
  const rejects = await place.query("SELECT line::INT AS line, rule FROM rejects ORDER BY line");
  expect(rejects).toEqual([
    { line: 3, rule: "unparsable" },
    { line: 4, rule: "high_below_low" },
  ]);
});

test("CSV, compressed CSV, JSON and Parquet give the same bars; a repeat changes nothing", async () => {
  const place = workplace();
  const csv = `${HEADER}1704124800000,10,11,9,10.5,100,1050\n`;
  const rows = [
    {
      symbol: "000004.SZ",
      timestamp: 1704124800000,
      open: 10,
      high: 11,
      low: 9,
      close: 10.5,
      volume: 100,
      amount: 1050,
    },
  ];
  const files = [
    place.file("000001.SZ.csv", csv),
    place.file("000002.SZ.csv.gz", gzipSync(csv)),
    place.file("many.json", JSON.stringify(rows)),
  ];
  await place.import("bars_1d", files);
  await place.query(
    `COPY (SELECT '000005.SZ' AS symbol, * EXCLUDE (symbol) FROM bars_1d LIMIT 1) TO '${join(place.lake.location, "x.parquet")}'`,
  );
  await place.import("bars_1d", [join(place.lake.location, "x.parquet")]);
  const bars = await place.query(
    "SELECT DISTINCT trade_date::VARCHAR AS d, close, volume, amount, lot FROM bars_1d",
  );
  expect(bars).toEqual([{ d: "2024-01-02", close: 10.5, volume: 100n, amount: 1050, lot: 1 }]);
  const again = await place.import("bars_1d", files);
  expect(again.landed).toMatchObject([{ inserted: 0, updated: 0, unchanged: 3 }]);
});

test("times without an offset are the exchange's own, and --bar-label start moves a minute to its end", async () => {
  const place = workplace();
  const file = place.file(
    "bars.csv",
    `symbol,datetime,open,high,low,close,vol\n600519.SH,2024-03-01 09:30:00,1,1,1,1,5\nAAPL.US,2024-03-01 09:30:00,1,1,1,1,5\nAAPL.US,2024-03-01T15:00:00Z,1,1,1,1,5\n`,
  );
  await place.import("bars_1m", [file], { barLabel: "start", volumeUnit: "lots" });
  const bars = await place.query(
    "SELECT symbol, strftime(timestamp, '%H:%M') AS at, shares::INT AS shares FROM bars_1m ORDER BY symbol, timestamp",
  );
  expect(bars).toEqual([
    { symbol: "600519.SH", at: "01:31", shares: 500 },
    { symbol: "AAPL.US", at: "14:31", shares: 5 },
    { symbol: "AAPL.US", at: "15:01", shares: 5 },
  ]);
});

test("daily files may give dates, and columns may be mapped", async () => {
  const place = workplace();
  const file = place.file(
    "d.csv",
    "code,day,o,h,l,c,vol\n00700.HK,20240102,1,2,1,2,5\n600000.SH,2024-01-02,1,2,1,2,5\n",
  );
  await place.import("bars_1d", [file], {
    map: { symbol: "code", timestamp: "day", open: "o", high: "h", low: "l", close: "c" },
  });
  const bars = await place.query(
    "SELECT symbol, trade_date::VARCHAR AS d, timestamp::VARCHAR AS t FROM bars_1d ORDER BY symbol",
  );
  expect(bars).toEqual([
    { symbol: "00700.HK", d: "2024-01-02", t: "2024-01-01 16:00:00+00" },
    { symbol: "600000.SH", d: "2024-01-02", t: "2024-01-01 16:00:00+00" },
  ]);
});

test("a single file that lacks a column is an error that says how to map; among others it is set aside", async () => {
  const place = workplace();
  const bad = place.file("600000.SH.csv", "when,open,high,low,close,volume\n1,2,3,4,5,6\n");
  const good = place.file("600519.SH.csv", `${HEADER}1704124800000,10,11,9,10.5,100,1050\n`);
  const torn = place.file("000001.SZ.csv.gz", gzipSync(HEADER).subarray(0, 12));
  await expect(place.import("bars_1d", [bad])).rejects.toMatchObject({
    message: expect.stringContaining("has no column for timestamp"),
    hint: expect.stringContaining('`map: { timestamp: "COLUMN" }`'),
  });
  await expect(place.import("bars_1d", [good], { map: { open: "nope" } })).rejects.toThrow(
    /has no column "nope"/,
  );
  const report = await place.import("bars_1d", [bad, torn, good, "/nowhere/600001.SH.csv"]);
  expect(report.landed).toMatchObject([{ inserted: 1 }]);
  expect(report.rejected.map((count) => count.rule)).toEqual([
    "unreadable_file",
    "unreadable_file",
    "unreadable_file",
  ]);
});

test("instruments take what the symbol says, and exchanges follow from them", async () => {
  const place = workplace();
  const file = place.file(
    "i.csv",
    "symbol,name,type,list_date,industry\n600519.SH,贵州茅台,stock,20010827,酒\nAAPL.US,Apple,stock,,\nbad,x,stock,,\n600519.SH,again,stock,,\n",
  );
  const report = await place.import("instruments", [file]);
  expect(report.remarks.join()).toContain("industry");
  expect(
    await place.query(
      "SELECT symbol, code, exchange, region, name, listing_date::VARCHAR AS listed FROM instruments ORDER BY symbol",
    ),
  ).toEqual([
    {
      symbol: "600519.SH",
      code: "600519",
      exchange: "SH",
      region: "CN",
      name: "贵州茅台",
      listed: "2001-08-27",
    },
    { symbol: "AAPL.US", code: "AAPL", exchange: "US", region: "US", name: "Apple", listed: null },
  ]);
  expect(await place.query(`SELECT exchange, "count" FROM exchanges ORDER BY exchange`)).toEqual([
    { exchange: "SH", count: 1n },
    { exchange: "US", count: 1n },
  ]);
  expect((await place.query("SELECT rule FROM rejects ORDER BY line")).map((row) => row.rule)).toEqual([
    "bad_symbol",
    "duplicate_key",
  ]);
});

test("an instrument whose content changes gets a second version; the first one ends", async () => {
  const place = workplace();
  await place.import("instruments", [place.file("a.csv", "symbol,name\n600519.SH,old\n600000.SH,same\n")]);
  clock.advance(1000);
  const again = await place.import("instruments", [
    place.file("b.csv", "symbol,name\n600519.SH,new\n600000.SH,same\n"),
  ]);
  expect(again.landed[0]).toMatchObject({ inserted: 1, updated: 1 });
  const versions = await place.query(
    "SELECT symbol, name, valid_to IS NULL AS current FROM raw.instruments ORDER BY symbol, valid_from",
  );
  expect(versions).toEqual([
    { symbol: "600000.SH", name: "same", current: true },
    { symbol: "600519.SH", name: "old", current: false },
    { symbol: "600519.SH", name: "new", current: true },
  ]);
});

test("universes bring their members, and a member that is gone has left", async () => {
  const place = workplace();
  const universe = (symbols: string[]) => JSON.stringify([{ id: "U", name: "A universe", symbols }]);
  await place.import("universes", [place.file("u.json", universe(["600519.SH", "000001.SZ", "nonsense"]))]);
  clock.advance(1000);
  await place.import("universes", [place.file("u.json", universe(["600519.SH", "600000.SH"]))]);
  expect(await place.query("SELECT symbol FROM universe_members ORDER BY symbol")).toEqual([
    { symbol: "600000.SH" },
    { symbol: "600519.SH" },
  ]);
  expect(await place.query("SELECT symbol FROM raw.universe_members WHERE valid_to IS NOT NULL")).toEqual([
    { symbol: "000001.SZ" },
  ]);
  expect(await place.query("SELECT id, region, symbol_count FROM universes")).toEqual([
    { id: "U", region: "CN", symbol_count: 2n },
  ]);
});

test("income, key figures and shares are imported as the other statements are", async () => {
  const place = workplace();
  const head = "symbol,period_end,announce_date";
  for (const [table, field, value] of [
    ["income", "revenue", 12.5],
    ["metrics", "roe", 0.25],
    ["shares", "total_shares", 1000],
  ] as const) {
    const file = place.file(`${table}.csv`, `${head},${field}\n600519.SH,2024-03-31,2024-04-30,${value}\n`);
    expect((await place.import(table, [file])).landed).toMatchObject([{ table, inserted: 1 }]);
    expect(await place.query(`SELECT symbol, ${field} AS value FROM ${table}`)).toEqual([
      { symbol: "600519.SH", value },
    ]);
  }
});

test("statements have every version, grow columns, and a repeat changes nothing", async () => {
  const place = workplace();
  const first = place.file(
    "a.csv",
    "symbol,period_end,announce_date,total_assets,note\n600519.SH,20240331,20240430,100,x\n600519.SH,2024-06-30,,200,y\n",
  );
  await place.import("balance_sheet", [first]);
  expect((await place.import("balance_sheet", [first])).landed).toMatchObject([
    { inserted: 0, unchanged: 2 },
  ]);
  clock.advance(1000);
  const restated = place.file(
    "b.csv",
    "symbol,period_end,announce_date,total_assets,special_reserve\n600519.SH,2024-03-31,2024-04-30,101,7\n",
  );
  expect((await place.import("balance_sheet", [restated])).landed).toMatchObject([{ inserted: 1 }]);
  expect(
    await place.query(
      "SELECT period_end::VARCHAR AS p, total_assets, special_reserve FROM balance_sheet ORDER BY p",
    ),
  ).toEqual([
    { p: "2024-03-31", total_assets: 101, special_reserve: 7 },
    { p: "2024-06-30", total_assets: 200, special_reserve: null },
  ]);
  expect(await place.query("SELECT count(*) AS n FROM raw.balance_sheet")).toEqual([{ n: 3n }]);
});
