import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { exitOfImport } from "../../../src/cli/cli.js";
import { Session } from "../../../src/db/session/session.js";
import type { ImportOptions } from "../../../src/jobs/import/import-options.js";
import { type ImportTable, runImport } from "../../../src/jobs/import/run-import.js";
import { Lake } from "../../../src/lake/lake.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { queryLake, temporaryFolder } from "../../lake/temporary-lake.js";

const clock = virtualClock("2026-11-21T00:00:00Z");
const HEADER = "symbol,date,open,high,low,close,volume,amount\n";

function workplace() {
  const folder = temporaryFolder();
  const lake = new Lake(join(folder, "lake"), { hasDatabase: false });
  let runs = 0;
  return {
    folder,
    lake,
    file(name: string, content: string | Buffer): string {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    },
    import: (table: ImportTable, files: string[], options: ImportOptions = {}) =>
      runImport(lake, table, files, { ...options, runId: `run-${++runs}` }, clock),
    query: <Row = Record<string, unknown>>(sql: string): Promise<Row[]> => queryLake<Row>(lake, sql),
  };
}

test("CSV, compressed CSV, JSON and Parquet give the same bars; a repeat changes nothing", async () => {
  const place = workplace();
  const csv = "timestamp,open,high,low,close,volume,amount\n1704124800000,10,11,9,10.5,100,1050\n";
  const row = {
    symbol: "000004.SZ",
    timestamp: 1704124800000,
    open: 10,
    high: 11,
    low: 9,
    close: 10.5,
    volume: 100,
    amount: 1050,
  };
  const files = [
    place.file("000001.SZ.csv", csv),
    place.file("000002.SZ.csv.gz", gzipSync(csv)),
    place.file("many.json", JSON.stringify([row])),
  ];
  await place.import("bars_1d", files);
  const copy = join(place.folder, "x.parquet");
  await place.query(
    `COPY (SELECT '000005.SZ' AS symbol, * EXCLUDE (symbol) FROM bars_1d LIMIT 1) TO '${copy}'`,
  );
  await place.import("bars_1d", [copy]);
  expect(
    await place.query("SELECT DISTINCT trade_date::VARCHAR AS d, close, volume, amount, lot FROM bars_1d"),
  ).toEqual([{ d: "2024-01-02", close: 10.5, volume: 100n, amount: 1050, lot: 1 }]);
  expect((await place.import("bars_1d", files)).landed).toMatchObject([
    { inserted: 0, updated: 0, unchanged: 3 },
  ]);
});

/** Bars that hardly compress, so that each byte of the file carries data. */
const manyBars = (symbol: string): string =>
  HEADER +
  Array.from({ length: 300 }, (_, n) => {
    const price = 10 + ((n * 7919) % 997) / 100;
    const date = new Date(Date.UTC(2023, 0, 2 + n)).toISOString().slice(0, 10);
    return `${symbol},${date},${price},${price + 1},${price - 1},${price},${n * 7919},${Math.round(n * 7919 * price)}\n`;
  }).join("");

test("a .zst is taken whole, and refused wherever it is cut", async () => {
  const place = workplace();
  const csv = place.file("plain.csv", manyBars("600000.SH"));
  const whole = join(place.folder, "whole.csv.zst");
  using session = await Session.open();
  await session.run(
    `COPY (SELECT * FROM read_csv('${csv}', all_varchar = true)) TO '${whole}' (FORMAT csv, COMPRESSION zstd)`,
  );
  const bytes = readFileSync(whole);
  expect((await place.import("bars_1d", [whole])).landed[0]).toMatchObject({ inserted: 300 });
  for (const length of [3, 7, 20, bytes.length >> 1, bytes.length - 1]) {
    const cut = place.file("cut.csv.zst", bytes.subarray(0, length));
    await expect(place.import("bars_1d", [cut])).rejects.toThrow(/cut\.csv\.zst: is cut short or damaged/);
  }
});

test("an import of which no row could be taken has the exit code 1; with one good row, or none that is new, it has 0", async () => {
  const place = workplace();
  const bad = "600000.SH,2024-01-02,1,2,1,x,5,5\n";
  const all = await place.import("bars_1d", [place.file("all.csv", HEADER + bad + bad)]);
  expect([all.rejected[0]?.rows, exitOfImport(all)]).toEqual([2, 1]);
  const some = place.file("some.csv", `${HEADER}${bad}600000.SH,2024-01-02,1,2,1,1,5,5\n`);
  expect(exitOfImport(await place.import("bars_1d", [some]))).toBe(0);
  expect(exitOfImport(await place.import("bars_1d", [some]))).toBe(0);
});

test.each([
  ["bars_1d", { foo: "open" }, /bars_1d has no column foo.*did you mean open=foo\?/],
  ["bars_1d", { opn: "o" }, /has no column opn.*did you mean open\?/],
  ["bars_1d", { something: "o" }, /has no column something.*its columns are symbol, timestamp, open/],
  ["instruments", { listing_dat: "d" }, /did you mean listing_date\?/],
  ["universes", { simbols: "d" }, /did you mean symbols\?/],
  ["balance_sheet", { "a b": "d" }, /balance_sheet has no column a b/],
] as const)("a map to a column that %s does not have is refused: %o", async (table, map, message) => {
  const place = workplace();
  const file = place.file("a.csv", manyBars("600000.SH"));
  const error = await place.import(table, [file], { map }).catch((caught: unknown) => caught);
  expect(error).toMatchObject({ name: "UsageError" });
  expect(`${(error as Error).message} ${(error as { hint: string }).hint}`).toMatch(message);
});

test("files that are imported again add no rejects, but report them again; new ones are added", async () => {
  const place = workplace();
  const bad = "600000.SH,2024-01-02,1,2,1,x,5,5\n,2024-01-02,1,2,1,1,5,5\n600000.SH,2024-01-04,1,2,1,1,5,5\n";
  const file = place.file("a.csv", HEADER + bad);
  for (let time = 0; time < 3; time++) {
    const report = await place.import("bars_1d", [file]);
    expect(report.rejected.reduce((sum, { rows }) => sum + rows, 0)).toBe(2);
    expect(await place.query("SELECT count(*)::INT AS n FROM rejects")).toEqual([{ n: 2 }]);
  }
  place.file("a.csv", `${HEADER}${bad}600000.SH,2024-01-03,1,2,1,y,5,5\n`);
  await place.import("bars_1d", [file]);
  expect(await place.query("SELECT count(*)::INT AS n FROM rejects")).toEqual([{ n: 3 }]);
});

test("exchanges follow from instruments, and an instrument whose content changes gets a second version", async () => {
  const place = workplace();
  await place.import("instruments", [
    place.file("a.csv", "symbol,name\n600519.SH,old\n600000.SH,same\nAAPL.US,Apple\n"),
  ]);
  expect(await place.query(`SELECT exchange, "count" FROM exchanges ORDER BY exchange`)).toEqual([
    { exchange: "SH", count: 2n },
    { exchange: "US", count: 1n },
  ]);
  clock.advance(1000);
  const again = await place.import("instruments", [
    place.file("b.csv", "symbol,name\n600519.SH,new\n600000.SH,same\n"),
  ]);
  expect(again.landed[0]).toMatchObject({ inserted: 1, updated: 1 });
  expect(
    await place.query(
      "SELECT symbol, name, valid_to IS NULL AS current FROM raw.instruments WHERE region = 'CN' ORDER BY symbol, valid_from",
    ),
  ).toEqual([
    { symbol: "600000.SH", name: "same", current: true },
    { symbol: "600519.SH", name: "old", current: false },
    { symbol: "600519.SH", name: "new", current: true },
  ]);
});

test("a member that is gone from a universe has left it", async () => {
  const place = workplace();
  const universe = (symbols: string[]) => JSON.stringify([{ id: "U", name: "A universe", symbols }]);
  await place.import("universes", [place.file("u.json", universe(["600519.SH", "000001.SZ"]))]);
  clock.advance(1000);
  await place.import("universes", [place.file("u.json", universe(["600519.SH", "600000.SH"]))]);
  expect(await place.query("SELECT symbol FROM raw.universe_members WHERE valid_to IS NOT NULL")).toEqual([
    { symbol: "000001.SZ" },
  ]);
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
