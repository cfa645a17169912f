import { readFileSync } from "node:fs";
import { join } from "node:path";
import { literal } from "../../../src/db/quote.js";
import { Session } from "../../../src/db/session/session.js";
import { byteCount, Lake, rowCount } from "../../../src/lake/lake.js";
import { openReader } from "../../../src/lake/open-reader.js";
import { buildSqlCopy } from "../../../src/lake/sql-copy/build-sql-copy.js";
import { BARS_1M } from "../../../src/schema/bars.js";
import { askSql } from "../../ask-sql.js";
import { makeNativeTable } from "../../baselines/native-table.js";
import { writeYear } from "../../lakes/year-of-minutes.js";
import type { Benchmark, Case } from "../../measure/benchmark.js";
import { temporaryFolder } from "../../measure/temporary-folder.js";

/** Space for the copy for SQL of all minutes. */
const COPY_SPACE = 16 * 2 ** 30;

/** The view, behind the macro that it needs. */
const VIEW_FILES = ["rules/shares_of", "bars/bars_1m"].map(
  (name) => new URL(`../../../sql/views/${name}.sql`, import.meta.url),
);

/** A typical query over the view `bars_1m`. Its numeric columns are summed to check it. */
interface Question {
  readonly name: string;
  readonly sql: string;
  readonly numbers: readonly string[];
}

const QUESTIONS: readonly Question[] = [
  {
    name: "a symbol's year",
    sql: `SELECT timestamp, open, high, low, close, volume, amount FROM bars_1m
      WHERE symbol = '600003.SH' AND trade_date BETWEEN '2025-01-01' AND '2025-12-31'`,
    numbers: ["epoch_ms(timestamp)", "open", "high", "low", "close", "volume", "amount"],
  },
  {
    name: "a day's cross-section",
    sql: `SELECT symbol, arg_min(open, timestamp) AS open, max(high) AS high, min(low) AS low,
        arg_max(close, timestamp) AS close, sum(shares) AS shares, sum(amount) AS amount
      FROM bars_1m WHERE trade_date = '2025-01-15' GROUP BY symbol`,
    numbers: ["open", "high", "low", "close", "shares", "amount"],
  },
  {
    name: "VWAP by symbol and day",
    sql: `SELECT symbol, trade_date, sum(amount) / sum(shares) AS vwap FROM bars_1m GROUP BY symbol, trade_date`,
    numbers: ["vwap", "vwap * day(trade_date)"],
  },
];

/**
 * Typical queries over the views of a compacted lake without and with the copy for SQL, over a DuckDB database with the
 * same rows in the same order, and over these in one Parquet file with DuckDB's default settings, which shows the cost of
 * Parquet itself.
 */
export const query: Benchmark = {
  name: "query",
  doc: "questions to the views of a compacted lake, without and with the copy for SQL, and to a Parquet file; each against a native DuckDB table",
  shared: true,
  async prepare(size) {
    const folder = temporaryFolder();
    const lake = new Lake(join(folder.path, "lake"));
    const nativeFile = join(folder.path, "native.duckdb");
    const plainFile = join(folder.path, "plain.parquet");
    const spec = size === "full" ? { symbols: 800, months: 12 } : { symbols: 5, months: 2 };
    {
      using session = await Session.open({ spillUnder: folder.path });
      await writeYear(session, lake, spec);
    }
    await makeNative(nativeFile, plainFile, lake);
    const snapshot = await lake.snapshot(BARS_1M);
    const rows = rowCount(snapshot);
    const native = await Session.open({ path: nativeFile, readOnly: true });
    const plain = await openPlain(plainFile);
    const { session: views } = await openReader(lake);
    const cache = join(folder.path, "cache");
    const copies = { root: cache, folder: join(cache, "lake"), copyFrom: 1, maxBytes: COPY_SPACE };
    await buildSqlCopy(lake, copies, "minutes", new AbortController().signal);
    const copied = await openReader(lake, { copies });
    const cases = QUESTIONS.flatMap((one) => {
      const baseline = `native: ${one.name}`;
      return [
        askSql(native, { ...one, name: baseline, baseline }),
        askSql(plain, { ...one, name: `one Parquet file: ${one.name}`, baseline }),
        askSql(views, { ...one, name: `barlake: ${one.name}`, baseline }),
        askSql(copied.session, { ...one, name: `barlake, with the copy: ${one.name}`, baseline }),
      ];
    });
    return {
      summary: `${rows} bars, ${snapshot.files.size} files, ${(byteCount(snapshot) / rows).toFixed(1)} bytes/bar`,
      work: { "queries/s": 1 },
      cases: cases as [Case, ...Case[]],
      async close() {
        native.close();
        plain.close();
        views.close();
        copied[Symbol.dispose]();
        folder[Symbol.dispose]();
      },
    };
  },
};

/** A native table with the lake's rows, columns and order, with the same view over it; and a Parquet file of it. */
async function makeNative(path: string, plainFile: string, lake: Lake): Promise<void> {
  using session = await Session.open({ path });
  await session.run("CREATE SCHEMA raw");
  await makeNativeTable(session, lake, BARS_1M, "raw.bars_1m");
  for (const view of VIEW_FILES) await session.run(readFileSync(view, "utf8"));
  await session.run("CHECKPOINT");
  await session.run(`COPY raw.bars_1m TO ${literal(plainFile)} (FORMAT parquet, COMPRESSION zstd)`);
}

/** The same view over one file, whose footer is read once, as the lake's readers do. */
async function openPlain(file: string): Promise<Session> {
  const session = await Session.open();
  await session.run("SET parquet_metadata_cache = true");
  await session.run("CREATE SCHEMA raw");
  await session.run(`CREATE VIEW raw.bars_1m AS FROM read_parquet(${literal(file)})`);
  for (const view of VIEW_FILES) await session.run(readFileSync(view, "utf8"));
  return session;
}
