import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
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
