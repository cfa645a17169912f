import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
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

const DOUBLES = ["open", "high", "low", "close", "amount", "prev_close"] as const;
/** A row of {@link land} in JSON: doubles are texts, which may also be infinite or no numbers. */
const ROW = `[{"symbol":"VARCHAR","at":"BIGINT",${DOUBLES.map((name) => `"${name}":"DOUBLE"`).join()},"volume":"BIGINT"}]`;

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
  const rows = bars.map((bar) => {
    const { symbol = "600519.SH", open = 10, high = 11, low = 9, close = 10.5, volume = 100 } = bar;
    const amount = bar.amount === undefined ? volume * close : bar.amount;
    const numbers = [open, high, low, close, amount, bar.prevClose ?? null].map((value, n) => [
      DOUBLES[n],
      value === null ? null : String(value),
    ]);
    const at = typeof bar.at === "number" ? bar.at : Date.parse(bar.at);
    return { symbol, at: at * 1000, ...Object.fromEntries(numbers), volume: String(BigInt(volume)) };
  });
  // A statement of values takes five times as long to read as such a list.
  await session.run(
    `INSERT INTO test_bars (symbol, timestamp, ${DOUBLES.join(", ")}, volume, line, lot, source)
     SELECT r.symbol, make_timestamptz(r.at), ${DOUBLES.map((name) => `r.${name}`).join(", ")}, r.volume, line, ${options.lot ?? 1}, 'test'
     FROM (SELECT unnest(rows) AS r, generate_subscripts(rows, 1) - 1 AS line FROM (SELECT from_json($1, '${ROW}') AS rows))`,
    [JSON.stringify(rows)],
  );
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
