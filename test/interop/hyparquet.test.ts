import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { expect, test } from "vitest";
import type { TradingDate } from "../../src/core/time.js";
import { ident, literal } from "../../src/db/quote.js";
import type { Session } from "../../src/db/session/session.js";
import { landRequests, type RequestRecord } from "../../src/jobs/ledger/ledger.js";
import { rowCount } from "../../src/lake/lake.js";
import { landTradingDays } from "../../src/lake/land/trading-days.js";
import type { Column } from "../../src/schema/column.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { simulateMarket } from "../../src/sim/market.js";
import { landRun } from "../lake/land/land-run.js";
import { landSomeActions } from "../lake/land/some-actions.js";
import { openSession, T0, temporaryLake } from "../lake/temporary-lake.js";

/** Instants as microseconds and dates as days since 1970: exact, where a Date would round. */
const PARSERS = {
  timestampFromMicroseconds: (micros: bigint): bigint => micros,
  dateFromDays: (days: number): number => days,
};

const UTC_MICROS = { type: "TIMESTAMP", isAdjustedToUTC: true, unit: "MICROS" };

/** What a file's footer says of a column. */
const PARQUET_TYPE = {
  string: { type: "BYTE_ARRAY", converted_type: "UTF8" },
  double: { type: "DOUBLE" },
  int64: { type: "INT64" },
  int32: { type: "INT32" },
  boolean: { type: "BOOLEAN" },
  date: { type: "INT32", converted_type: "DATE" },
  timestamp: { type: "INT64", logical_type: UTC_MICROS },
  "string[]": { converted_type: "LIST" },
} as const;

/** A line of the ledger, which the simulation leaves empty and which alone has lists. */
const REQUEST: RequestRecord = {
  runId: "test",
  pipeline: "test",
  requestId: "1",
  dataset: "bars_1d",
  endpoint: "/v1/klines/batch",
  symbols: ["600519.SH", "AAPL.US"],
  askedAt: T0,
  status: "answered",
  attempts: 1,
  rows: 2,
  rejected: 0,
  bytes: 100,
  durationMs: 5,
  absent: [],
};

/** The rows of a file as DuckDB reads them, in the file's order, with instants and dates as hyparquet is set to return them. */
async function rowsByDuckDb(session: Session, file: string, columns: readonly Column[]): Promise<unknown[]> {
  const select = columns.map(({ name, type }) => {
    if (type === "timestamp") return `epoch_us(${ident(name)}) AS ${ident(name)}`;
    if (type === "date") return `CAST(${ident(name)} - DATE '1970-01-01' AS INTEGER) AS ${ident(name)}`;
    return ident(name);
  });
  return session.json(
    `SELECT ${select.join(", ")} FROM read_parquet(${literal(file)}, hive_partitioning = false)`,
  );
}

test("hyparquet reads every data file of a lake with every table: same types, rows and values as DuckDB", async () => {
  const [lake, session] = [temporaryLake(), await openSession()];
  const market = simulateMarket({ seed: 7, symbols: 25, days: 80, end: "2026-11-20" as TradingDate });
  await fillLake(lake, market, { minuteDays: 2, runId: "sim", now: T0 });
  await landRequests(session, lake, [REQUEST], { operation: "TEST", runId: "test", now: T0 });
  await landRun(session, lake, "odd", T0);
  await landTradingDays(session, lake, { operation: "TEST", runId: "test", now: T0 });
  await landSomeActions(session, lake, T0);
  const snapshots = await lake.snapshots();
  const seen = { nulls: 0, types: new Set<string>() };
  for (const snapshot of snapshots) {
    const columns = snapshot.columns.filter(({ name }) => !snapshot.table.partition.includes(name));
    let rows = 0;
    for (const data of snapshot.files.values()) {
      const path = lake.urlOf(snapshot, data);
      const file = await asyncBufferFromFile(path);
      const metadata = await parquetMetadataAsync(file);
      for (const { name, type } of columns) {
        expect(metadata.schema.find((element) => element.name === name)).toMatchObject(PARQUET_TYPE[type]);
        seen.types.add(type);
      }
      const found = await parquetReadObjects({ file, metadata, compressors, parsers: PARSERS });
      expect(found).toEqual(await rowsByDuckDb(session, path, columns));
      expect(metadata.num_rows).toBe(BigInt(found.length));
      rows += found.length;
      for (const row of found) seen.nulls += Object.values(row).filter((value) => value === null).length;
    }
    expect(rows, snapshot.table.name).toBe(rowCount(snapshot));
    expect(rows, snapshot.table.name).toBeGreaterThan(0);
  }
  expect([...seen.types].sort()).toEqual(Object.keys(PARQUET_TYPE).sort());
  expect(seen.nulls).toBeGreaterThan(0);
});
