import { join } from "node:path";
import type { RecordBatch } from "apache-arrow";
import { openLake, type ReadOptions } from "../../src/api/lake/open-lake.js";
import { literalList } from "../../src/db/quote.js";
import { Session } from "../../src/db/session/session.js";
import { Lake, rowCount } from "../../src/lake/lake.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import type { TableSchema } from "../../src/schema/column.js";
import { arcticBars } from "../baselines/arctic-bars.js";
import { writeMarket } from "../lakes/market-lake.js";
import type { Benchmark, Case, Outcome } from "../measure/benchmark.js";
import { temporaryFolder } from "../measure/temporary-folder.js";

/** What is read again and again, each time of other symbols. */
interface Question {
  readonly name: string;
  readonly table: TableSchema;
  /** Reads of one run, so that it is long enough to time. */
  readonly reads: readonly ReadOptions[];
}

/** Columns that every reader gives. */
const COLUMNS = [
  "symbol",
  "timestamp",
  "trade_date",
  "open",
  "high",
  "low",
  "close",
  "volume",
  "amount",
  "prev_close",
];

function questionsOf(symbols: number, runs: number): readonly Question[] {
  const nameOf = (n: number): string => `${600_000 + ((n * 37) % symbols)}.SH`;
  const each = (make: (n: number) => ReadOptions): ReadOptions[] =>
    Array.from({ length: runs }, (_, n) => ({ ...make(n), columns: COLUMNS }));
  const scattered = (n: number): string[] => [
    ...new Set(Array.from({ length: Math.min(100, symbols) }, (_, k) => nameOf(n + k))),
  ];
  const windowOf = (n: number): ReadOptions => {
    const from = Date.UTC(2021, 1 + (n % 8), 1);
    const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
    return { from: dateOf(from), to: dateOf(from + 140 * 86_400_000) };
  };
  return [
    { name: "a symbol's history", table: BARS_1D, reads: each((n) => ({ symbols: [nameOf(n)] })) },
    {
      name: "its last year",
      table: BARS_1D,
      reads: each((n) => ({ symbols: [nameOf(n)], from: "2024-06-01" })),
    },
    {
      name: "its last year, adjusted",
      table: BARS_1D,
      reads: each((n) => ({ symbols: [nameOf(n)], from: "2024-06-01", adjust: "backward" })),
    },
    {
      name: "100 symbols x 100 days of the past",
      table: BARS_1D,
      reads: each((n) => ({ symbols: scattered(n), ...windowOf(n) })),
    },
    { name: "a symbol's month of minutes", table: BARS_1M, reads: each((n) => ({ symbols: [nameOf(n)] })) },
  ];
}

/**
 * Reads of bars of named symbols: by SQL on the Parquet files, by ArcticDB (only days), through the views, and from
 * segments.
 */
export const segments: Benchmark = {
  name: "segments",
  doc: "bars of named symbols from segments: against SQL on the Parquet files, and ArcticDB where a Python has it",
  shared: true,
  async prepare(size) {
    const isFull = size === "full";
    const folder = temporaryFolder();
    const lake = new Lake(join(folder.path, "lake"), { hasDatabase: false });
    const symbols = isFull ? 5000 : 20;
    {
      using session = await Session.open({ spillUnder: folder.path });
      await writeMarket(session, lake, { symbols, years: isFull ? 10 : 5, months: 1 });
    }
    const [days, minutes] = [await lake.snapshot(BARS_1D), await lake.snapshot(BARS_1M)];
    const duckdb = await Session.open();
    await duckdb.run("SET parquet_metadata_cache = true");
    const views = openLake(lake.location, { segments: false });
    const place = { folder: join(folder.path, "segments"), maxBytes: 16e9 };
    const cached = openLake(lake.location, { segments: place });
    await cached.buildSegments(["bars_1d", "bars_1m"]);
    const arctic = await arcticBars(join(folder.path, "arctic"), lake.filesOf(days).urls);

    const casesOf = ({ name, table, reads }: Question): Case[] => {
      const { urls } = lake.filesOf(table === BARS_1D ? days : minutes);
      const baseline = `DuckDB on the Parquet files: ${name}`;
      const one = (by: string, read: (options: ReadOptions) => Promise<Batches>): Case => ({
        name: `${by}: ${name}`,
        baseline,
        async run(timed) {
          const found = await timed(async () => {
            const batches: RecordBatch[] = [];
            for (const options of reads)
              for (const batch of (await read(options)).batches) batches.push(batch);
            return batches;
          });
          return outcomeOf(found);
        },
      });
      const fromArctic: Case = {
        name: `ArcticDB: ${name}`,
        baseline,
        run: async (timed) => {
          const sums = await timed(async () => arctic?.read(reads));
          return { checks: (await sums?.()) ?? {} };
        },
      };
      return [
        one("DuckDB on the Parquet files", (options) => bySql(duckdb, urls, options)),
        ...(arctic === undefined || table === BARS_1M || reads[0]?.adjust !== undefined ? [] : [fromArctic]),
        one("barlake, through the view", (options) => views.read(table.name, options)),
        one("barlake, from segments", (options) => cached.read(table.name, options)),
      ];
    };
    const runs = isFull ? 20 : 2;
    return {
      summary: `${rowCount(days)} daily bars and ${rowCount(minutes)} minutes of ${symbols} symbols, ${runs} reads a run`,
      work: { "reads/s": runs },
      cases: questionsOf(symbols, runs).flatMap(casesOf) as unknown as readonly [Case, ...Case[]],
      async close() {
        arctic?.close();
        duckdb.close();
        await views.close();
        await cached.close();
        folder[Symbol.dispose]();
      },
    };
  },
};

interface Batches {
  readonly batches: readonly RecordBatch[];
}

/** What one writes for it by hand. */
async function bySql(
  session: Session,
  urls: readonly string[],
  { symbols = [], from = "0001-01-01", to = "9999-12-31", adjust }: ReadOptions,
): Promise<Batches> {
  const ofSymbols = `read_parquet(${literalList(urls)}) WHERE symbol IN (${symbols.map((_, n) => `$s${n}`).join(", ")})`;
  const sql = `SELECT ${COLUMNS.join(", ")} FROM ${adjust === undefined ? ofSymbols : `(${adjustedByHand(ofSymbols)}) WHERE true`}
      AND trade_date >= CAST($from AS DATE) AND trade_date < CAST($to AS DATE) ORDER BY symbol, trade_date, timestamp`;
  const values = Object.fromEntries(symbols.map((symbol, n) => [`s${n}`, symbol]));
  const batches: RecordBatch[] = [];
  for await (const batch of await session.batches(sql, { ...values, from, to })) batches.push(batch);
  return { batches };
}

/** Backward adjustment by hand: the running product of each symbol's ex-factors. */
function adjustedByHand(bars: string): string {
  const prices = ["open", "high", "low", "close", "prev_close"];
  return `SELECT * REPLACE (${prices.map((price) => `${price} * step AS ${price}`).join(", ")})
    FROM (SELECT *, product(CASE WHEN prev_close > 0 AND last_close > 0 AND abs(last_close / prev_close - 1) >= 1e-9
          THEN last_close / prev_close ELSE 1 END) OVER (PARTITION BY symbol ORDER BY timestamp ROWS UNBOUNDED PRECEDING) AS step
      FROM (SELECT *, lag(close) OVER (PARTITION BY symbol ORDER BY timestamp) AS last_close FROM ${bars}))`;
}

function outcomeOf(batches: readonly RecordBatch[]): Outcome {
  const sums = { rows: 0, close: 0, volume: 0 };
  for (const batch of batches) {
    sums.rows += batch.numRows;
    for (const name of ["close", "volume"] as const)
      for (const value of batch.getChild(name) ?? []) sums[name] += Number(value);
  }
  return { checks: sums };
}
