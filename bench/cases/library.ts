import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { type LakeConnection, openLake } from "../../src/api/lake/open-lake.js";
import { twoYearsLake } from "../lakes/two-years-lake.js";
import type { Benchmark, Case, Outcome } from "../measure/benchmark.js";
import { temporaryFolder } from "../measure/temporary-folder.js";

/** Queries of one run, so that a run is long enough to time. */
const QUERIES = 20;

const SQL = `SELECT trade_date, close, volume FROM bars_1d
  WHERE symbol = $symbol AND trade_date >= DATE '2025-10-01' ORDER BY trade_date`;

/**
 * A short query of a program: through `openLake`, which looks for new commits before each query and verifies the files
 * that it reads, and by DuckDB's own client on `lake.duckdb`.
 */
export const library: Benchmark = {
  name: "library",
  doc: "a short query, again and again: openLake against DuckDB's client on a finished lake.duckdb",
  shared: true,
  async prepare(size) {
    const folder = temporaryFolder();
    const { lake, summary } = await twoYearsLake(folder.path, size);
    const instance = await DuckDBInstance.create(lake.databaseFile, { access_mode: "READ_ONLY" });
    const connection = await instance.connect();
    await connection.run("SET TimeZone = 'UTC'");
    const segments = { folder: join(folder.path, "cache"), copyFrom: 1 };
    const open = openLake(lake.location, { segments: false });
    const copied = openLake(lake.location, { segments });
    await copied.buildSegments();
    const [found] = (
      await open.query<{ symbol: string }>("SELECT min(symbol) AS symbol FROM bars_1d")
    ).rows();
    const symbol = found?.symbol ?? "";
    const warm = (name: string, queried: LakeConnection): Case => ({
      name,
      async run(timed) {
        return timed(async () => {
          let rows: Record<string, unknown>[] = [];
          for (let n = 0; n < QUERIES; n++) rows = (await queried.query(SQL, { symbol })).rows();
          return outcomeOf(rows);
        });
      },
    });
    return {
      summary: `${summary}, ${QUERIES} queries a run`,
      work: { "queries/s": QUERIES },
      cases: [
        {
          name: "DuckDB's client on lake.duckdb",
          async run(timed) {
            return timed(async () => {
              let rows: Record<string, unknown>[] = [];
              for (let n = 0; n < QUERIES; n++)
                rows = (await connection.runAndReadAll(SQL, { symbol })).getRowObjectsJS();
              return outcomeOf(rows);
            });
          },
        },
        warm("barlake: openLake, warm", open),
        warm("barlake: openLake, warm, with the copy for SQL", copied),
      ],
      async close() {
        await open.close();
        await copied.close();
        connection.closeSync();
        instance.closeSync();
        folder[Symbol.dispose]();
      },
    };
  },
};

function outcomeOf(rows: readonly Readonly<Record<string, unknown>>[]): Outcome {
  const sum = (name: string): number => rows.reduce((total, row) => total + Number(row[name]), 0);
  return { checks: { rows: rows.length, close: sum("close"), volume: sum("volume") } };
}
