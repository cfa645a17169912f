import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { literal } from "../../src/db/quote.js";
import type { SessionOptions } from "../../src/db/session/open-database.js";
import { Session } from "../../src/db/session/session.js";
import { parquetRelation } from "../../src/db/views/parquet-relation.js";
import { Lake, type PointInTime } from "../../src/lake/lake.js";
import { landBars, stageBars } from "../../src/lake/land/land-bars.js";
import { Rejects } from "../../src/lake/land/rejects.js";
import type { LandReport } from "../../src/lake/land/upsert.js";
import type { Fence } from "../../src/lake/log/fence.js";
import { openReader } from "../../src/lake/open-reader.js";
import type { TableSchema } from "../../src/schema/column.js";

/** A folder that is deleted at the end of the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "barlake-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A lake in a separate folder; without `lake.duckdb`, which takes longer to write than most tests' rows. */
export function temporaryLake(options: { readonly hasDatabase?: boolean } = {}): Lake {
  return new Lake(join(temporaryFolder(), "lake"), { hasDatabase: false, ...options });
}

/** The rows of a query over a lake's views, as plain JSON values. Only the views that it mentions are created. */
export async function queryLake<Row>(
  lake: Lake,
  statement: string,
  pointInTime: PointInTime = {},
): Promise<Row[]> {
  const { session } = await openReader(lake, { threads: 1, statement }, pointInTime);
  try {
    return await session.json<Row>(statement);
  } finally {
    session.close();
  }
}

/** A session that is closed at the end of the test. */
export async function openSession(options: SessionOptions = {}): Promise<Session> {
  const session = await Session.open(options);
  onTestFinished(() => session.close());
  return session;
}

/** One bar of a test; omitted fields have ordinary values. */
export interface TestBar {
  readonly symbol?: string;
  /** ISO text or epoch milliseconds. */
  readonly at: string | number;
  readonly open?: number;
  readonly high?: number;
  readonly low?: number;
  readonly close?: number;
  readonly volume?: number;
  readonly amount?: number | null;
  readonly prevClose?: number;
}

export const FINAL = { CN: 4e12, HK: 4e12, US: 4e12 };
export const T0 = Date.parse("2026-11-21T00:00:00Z");

/** Rows of a statement that inserts bars. */
const ROWS_AT_ONCE = 200;

function doubleSql(value: number | null): string {
  return `${value === null ? "NULL" : literal(String(value))}::DOUBLE`;
}

/** Lands bars in a table, as an ingest does. */
export async function land(
  session: Session,
  lake: Lake,
  table: TableSchema,
  bars: readonly TestBar[],
  options: {
    now?: number;
    finalEnd?: typeof FINAL;
    lot?: number;
    responses?: readonly string[];
    rejects?: Rejects;
    fence?: Fence;
  } = {},
): Promise<LandReport> {
  await stageBars(session, "test_bars");
  for (let first = 0; first < bars.length; first += ROWS_AT_ONCE) {
    const rows = bars.slice(first, first + ROWS_AT_ONCE).map((bar, i) => {
      const { symbol = "600519.SH", open = 10, high = 11, low = 9, close = 10.5, volume = 100 } = bar;
      const amount = bar.amount === undefined ? volume * close : bar.amount;
      const at = typeof bar.at === "number" ? bar.at : Date.parse(bar.at);
      const numbers = [open, high, low, close, amount, bar.prevClose ?? null].map(doubleSql);
      return `(${literal(symbol)}, make_timestamptz(${at * 1000}::BIGINT), ${numbers.join(", ")}, ${BigInt(volume)}, ${first + i})`;
    });
    await session.run(
      `INSERT INTO test_bars (symbol, timestamp, open, high, low, close, amount, prev_close, volume, line, lot, source)
       SELECT *, ${options.lot ?? 1}, 'test' FROM (VALUES ${rows.join(", ")})`,
    );
  }
  const {
    now = T0,
    finalEnd = FINAL,
    responses = [],
    rejects = new Rejects(session, "test"),
    fence,
  } = options;
  return landBars(session, lake, table, "test_bars", {
    operation: "TEST",
    runId: "test",
    now,
    finalEnd,
    responses,
    rejects,
    fence,
  });
}

/** Rows of a query over a table's live files; the query names them `live`. */
export async function liveRows<Row>(
  session: Session,
  lake: Lake,
  table: TableSchema,
  query: string,
): Promise<Row[]> {
  const live = await parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
  return session.json<Row>(`WITH live AS (${live}) ${query}`);
}
