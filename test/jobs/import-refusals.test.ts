import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { exitOfImport } from "../../src/cli/exit-codes.js";
import { Session } from "../../src/db/session/session.js";
import type { ImportOptions } from "../../src/jobs/import/import-options.js";
import { type ImportTable, runImport } from "../../src/jobs/import/run-import.js";
import { Lake } from "../../src/lake/lake.js";
import { parseSymbol } from "../../src/market/symbol.js";
import { virtualClock } from "../faults/clock/virtual-clock.js";
import { queryLake, temporaryFolder } from "../lake/temporary-lake.js";

const clock = virtualClock("2026-11-21T00:00:00Z");
const HEADER = "symbol,date,open,high,low,close,volume,amount\n";

function workplace() {
  const folder = temporaryFolder();
  const lake = new Lake(join(folder, "lake"));
  let runs = 0;
  return {
    folder,
    file(name: string, content: string | Buffer): string {
      const path = join(folder, name);
      writeFileSync(path, content);
      return path;
    },
    async import(table: ImportTable, files: string[], options: Partial<ImportOptions> = {}) {
      const defaults = { map: {}, volumeUnit: "shares", barLabel: "end", runId: `run-${++runs}` } as const;
      return runImport(lake, table, files, { ...defaults, ...options }, clock);
    },
    async query<Row = Record<string, unknown>>(sql: string): Promise<Row[]> {
      return queryLake<Row>(lake, sql);
    },
  };
}

/** Bars that hardly compress, so that each byte of the file carries data. */
const manyBars = (symbol: string): string =>
  HEADER +
  Array.from({ length: 300 }, (_, n) => {
    const price = 10 + ((n * 7919) % 997) / 100;
    const date = new Date(Date.UTC(2023, 0, 2 + n)).toISOString().slice(0, 10);
    return `${symbol},${date},${price},${price + 1},${price - 1},${price},${n * 7919},${n * 104_729}\n`;
  }).join("");

test("a .gz that was cut short is refused by its name, and nothing of it lands; the other files do", async () => {
  const place = workplace();
  const whole = gzipSync(manyBars("600000.SH"));
  const cut = place.file("cut.csv.gz", whole.subarray(0, whole.length - 100));
  await expect(place.import("bars_1d", [cut])).rejects.toThrow(
    /cut\.csv\.gz: is cut short or damaged \(unexpected end of file\)/,
  );
  const good = place.file("good.csv.gz", gzipSync(manyBars("600004.SH")));
  const report = await place.import("bars_1d", [cut, good]);
  expect(exitOfImport(report)).toBe(1);
  expect(report.rejected).toMatchObject([{ rule: "unreadable_file", source: cut, rows: 1 }]);
  expect(await place.query("SELECT symbol, count(*)::INT AS n FROM bars_1d GROUP BY ALL")).toEqual([
    { symbol: "600004.SH", n: 300 },
  ]);
});

test("a .zst is taken whole, and refused wherever it is cut", async () => {
  const place = workplace();
  const csv = place.file("plain.csv", manyBars("600000.SH"));
  const whole = join(place.folder, "whole.csv.zst");
  using session = await Session.open();
  await session.run(
    `COPY (SELECT * FROM read_csv('${csv}', all_varchar = true)) TO '${whole}' (FORMAT csv, COMPRESSION zstd)`,
  );
  const bytes = readFileSync(whole);
  const report = await place.import("bars_1d", [whole]);
  expect(report.landed[0]).toMatchObject({ inserted: 300 });
  for (const length of [3, 7, 20, bytes.length >> 1, bytes.length - 1]) {
    const cut = place.file("cut.csv.zst", bytes.subarray(0, length));
    await expect(place.import("bars_1d", [cut])).rejects.toThrow(/cut\.csv\.zst: is cut short or damaged/);
  }
});

test("an import of which no row could be taken has the exit code 1; with one good row, or none that is new, it has 0", async () => {
  const place = workplace();
  const bad = "nonsense,2024-01-02,1,2,1,1,5,5\n";
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
  const bad = "600000.SH,2024-01-02,1,2,1,x,5,5\n,2024-01-02,1,2,1,1,5,5\n";
  const file = place.file("a.csv", HEADER + bad);
  for (let time = 0; time < 4; time++) {
    const report = await place.import("bars_1d", [file]);
    expect(report.rejected.reduce((sum, { rows }) => sum + rows, 0)).toBe(2);
    expect(await place.query("SELECT count(*)::INT AS n FROM rejects")).toEqual([{ n: 2 }]);
  }
  place.file("a.csv", `${HEADER}${bad}600000.SH,2024-01-03,1,2,1,y,5,5\n`);
  await place.import("bars_1d", [file]);
  expect(await place.query("SELECT count(*)::INT AS n FROM rejects")).toEqual([{ n: 3 }]);
});

test("700.HK is taken as 00700.HK, in a column, a file's name, a universe and by a user", async () => {
  const place = workplace();
  const row = "2024-01-02,1,2,1,1,5,5\n";
  const column = place.file("a.csv", `${HEADER}700.HK,${row}00005.HK,${row}`);
  const named = place.file("9988.HK.csv", `${HEADER.replace("symbol,", "")}${row}`);
  await place.import("bars_1d", [column, named]);
  await place.import("instruments", [place.file("i.csv", "symbol,name\n700.HK,Tencent\n")]);
  await place.import("universes", [place.file("u.json", JSON.stringify([{ id: "U", symbols: ["5.HK"] }]))]);
  expect(await place.query("SELECT symbol FROM bars_1d ORDER BY symbol")).toEqual([
    { symbol: "00005.HK" },
    { symbol: "00700.HK" },
    { symbol: "09988.HK" },
  ]);
  expect(await place.query("SELECT symbol, code FROM instruments")).toEqual([
    { symbol: "00700.HK", code: "00700" },
  ]);
  expect(await place.query("SELECT symbol FROM universe_members")).toEqual([{ symbol: "00005.HK" }]);
  expect(parseSymbol("700.HK")).toBe("00700.HK");
});
