import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { type ImportTable, runImport } from "../../../src/jobs/import/run-import.js";
import { Lake } from "../../../src/lake/lake.js";
import { virtualClock } from "../../faults/clock/virtual-clock.js";
import { startWorker } from "../../faults/worker-process.js";
import { queryLake, temporaryFolder } from "../../lake/temporary-lake.js";
import { pickCases } from "../../sweep.js";

const WORKER = fileURLToPath(new URL("import-worker.mjs", import.meta.url));
/** More calls of the storage and the work folder than an import makes. */
const MOST_CALLS = 60;

interface Order {
  readonly folder: string;
  readonly table: ImportTable;
  readonly files: readonly string[];
  readonly runId: string;
  readonly kill?: { readonly call: number; readonly isDone: boolean };
}

const dayOf = (n: number): string => new Date(Date.UTC(2023, 0, 2 + n)).toISOString().slice(0, 10);
const bars = (first: number, end: number, close: number): string =>
  Array.from(
    { length: end - first },
    (_, i) => `AAPL.US,${dayOf(first + i)},10,12,9,${close},${1000 + i}\n`,
  ).join("");

/** Tables with a first file, and one that overlaps it and has a row that is set aside. */
const TABLES = [
  {
    table: "bars_1d",
    header: "symbol,date,open,high,low,close,volume\n",
    first: bars(0, 60, 10),
    second: `${bars(40, 100, 11)}AAPL.US,never,10,12,9,10,1\n`,
    rows: "SELECT trade_date::VARCHAR AS key, close AS value FROM raw.bars_1d ORDER BY ALL",
  },
  {
    table: "balance_sheet",
    header: "symbol,period_end,announce_date,total_assets\n",
    first: "600001.SH,2022-12-31,2023-04-20,1\n600001.SH,2023-12-31,2024-04-20,2\n",
    second:
      "600001.SH,2023-12-31,2024-08-20,3\n600001.SH,2024-12-31,2025-04-20,4\n600001.SH,never,2025-04-20,4\n",
    rows: "SELECT period_end::VARCHAR || announce_date AS key, total_assets AS value FROM raw.balance_sheet ORDER BY ALL",
  },
] as const;

const KILLS = pickCases(2 * MOST_CALLS, { few: 2, more: 8, all: 2 * MOST_CALLS }, [8, 15]);

test.each(TABLES)(
  "an import into $table that is killed at any call leaves the rows before it or after it; the next one completes it",
  async ({ table, header, first, second, rows }) => {
    let deaths = 0;
    const place = temporaryFolder();
    const [one, two, original] = [join(place, "1.csv"), join(place, "2.csv"), join(place, "lake")];
    writeFileSync(one, header + first);
    writeFileSync(two, header + second);
    const clock = virtualClock("2026-11-21T00:00:00Z");
    await runImport(new Lake(original, { hasDatabase: false }), table, [one], { runId: "first" }, clock);
    const before = await queryLake(new Lake(original, { hasDatabase: false }), rows);
    for (const n of KILLS) {
      const folder = join(place, `lake-${n}`);
      cpSync(original, folder, { recursive: true });
      const content = (): Promise<unknown[]> => queryLake(new Lake(folder, { hasDatabase: false }), rows);
      const worker = await startWorker<Order, unknown>(WORKER);
      const order = { folder, table, files: [two] };
      const kill = { call: n >> 1, isDone: n % 2 === 1 };
      const done = await worker.perform({ ...order, runId: "killed", kill });
      worker.close();
      if (done === undefined) deaths += 1;
      const left = await content();
      clock.advance(1000);
      await runImport(new Lake(folder, { hasDatabase: false }), table, [two], { runId: "again" }, clock);
      const after = await content();
      expect([before, after]).toContainEqual(left);
      expect(new Set(after.map((row) => (row as { key: string }).key)).size).toBe(after.length);
      expect(after.length).toBe(table === "bars_1d" ? 100 : 4);
      expect(
        await queryLake(new Lake(folder, { hasDatabase: false }), "SELECT count(*)::INT AS n FROM rejects"),
      ).toEqual([{ n: 1 }]);
    }
    // Drawn kills may all be after the last call; the pinned ones are not.
    if (KILLS.includes(8)) expect(deaths).toBeGreaterThan(0);
  },
);
