import { join } from "node:path";
import { Session } from "../../../src/db/session/session.js";
import { Lake, rowCount } from "../../../src/lake/lake.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { buildSqlCopy } from "../../../src/lake/sql-copy/build-sql-copy.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { INSTRUMENTS } from "../../../src/schema/reference.js";
import { BALANCE_SHEET, CASH_FLOW } from "../../../src/schema/statements.js";
import { askSql } from "../../ask-sql.js";
import { makeNativeTable } from "../../baselines/native-table.js";
import { writeDays, writeReference } from "../../lakes/market-lake.js";
import { writeStatements } from "../../lakes/quarterly-statements.js";
import { writeYear } from "../../lakes/year-of-minutes.js";
import type { Benchmark, Case } from "../../measure/benchmark.js";
import { temporaryFolder } from "../../measure/temporary-folder.js";
import { VIEW_QUESTIONS } from "../../view-questions.js";

/** The memory limit of the queries, as on a small machine. */
const MEMORY_LIMIT = "2GB";

/**
 * Analysts' queries over the views, compared with queries written by hand for native DuckDB tables that have the same
 * rows in the same order.
 */
export const views: Benchmark = {
  name: "views",
  doc: "questions to the views of a compacted lake; each against SQL by hand over native DuckDB tables; without and with the copy for SQL",
  shared: true,
  async prepare(size) {
    const full = size === "full";
    const [symbols, years] = full ? [5000, 10] : [40, 2];
    const minutes = full ? { symbols: 800, months: 12 } : { symbols: 5, months: 2 };
    const folder = temporaryFolder();
    const lake = new Lake(join(folder.path, "lake"));
    const nativeFile = join(folder.path, "native.duckdb");
    {
      using session = await Session.open({ spillUnder: folder.path });
      const days = Array.from({ length: years }, (_, n) => 2026 - years + n);
      await writeDays(session, lake, { symbols, years: days, end: "2026-01-01" });
      await writeStatements(session, lake, { symbols, years: days });
      await writeReference(session, lake, symbols);
      await writeYear(session, lake, minutes);
    }
    await makeNative(nativeFile, lake);
    const options = { spillUnder: folder.path, memoryLimit: MEMORY_LIMIT };
    const native = await Session.open({ path: nativeFile, readOnly: true, ...options });
    const { session: reader } = await openReader(lake, options);
    const cache = join(folder.path, "cache");
    const copies = { root: cache, folder: join(cache, "lake"), copyFrom: 1 };
    for (const kind of ["days", "minutes"] as const)
      await buildSqlCopy(lake, copies, kind, new AbortController().signal);
    const copied = await openReader(lake, { ...options, copies });
    const [daily, byMinute] = [await lake.snapshot(BARS_1D), await lake.snapshot(BARS_1M)];
    return {
      summary: `${rowCount(daily)} daily bars of ${symbols} symbols, ${rowCount(byMinute)} minutes of ${minutes.symbols}; DuckDB has ${MEMORY_LIMIT}`,
      work: { "queries/s": 1 },
      cases: VIEW_QUESTIONS.flatMap((one) => {
        const baseline = `by hand: ${one.name}`;
        return [
          askSql(native, { ...one, name: baseline, baseline, sql: one.byHand }),
          askSql(reader, { ...one, name: `barlake: ${one.name}`, baseline }),
          askSql(copied.session, { ...one, name: `barlake, copy: ${one.name}`, baseline }),
        ];
      }) as [Case, ...Case[]],
      async close() {
        native.close();
        reader.close();
        copied[Symbol.dispose]();
        folder[Symbol.dispose]();
      },
    };
  },
};

/** A database with the lake's rows, columns and order in native tables. */
async function makeNative(path: string, lake: Lake): Promise<void> {
  using session = await Session.open({ path });
  for (const table of [BARS_1D, BARS_1M, INSTRUMENTS, BALANCE_SHEET, CASH_FLOW])
    await makeNativeTable(session, lake, table, table.name);
  await session.run("CHECKPOINT");
}
