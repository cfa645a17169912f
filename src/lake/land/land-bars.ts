import { MINUTE_MS } from "../../core/time.js";
import { perRegion, regionSql, tradeDateSql } from "../../db/market/region-sql.js";
import { ident } from "../../db/quote.js";
import type { Session } from "../../db/session.js";
import type { Region } from "../../market/regions.js";
import { KLINE_COLUMNS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import type { BarSegment } from "../../wire/bar-segment.js";
import type { Lake } from "../lake.js";
import { BROKEN_RULE, rejectBroken, rejectRepeats } from "./bar-rejects.js";
import { type LandOptions, type LandReport, upsert } from "./upsert.js";

/** Options of a landing of bars. */
export interface LandBarsOptions extends LandOptions {
  /** Bars labelled before this instant (epoch ms) are final, by region. */
  readonly finalEnd: Readonly<Record<Region, number>>;
  /** Called with the bars of decoded columns that break a rule and are set aside. */
  readonly onBroken?: (broken: readonly BarSegment[]) => void;
}

/** DDL of the columns of staged bars; `source` and `line` say where each bar came from. */
const STAGED_BARS = [
  "symbol VARCHAR",
  "timestamp TIMESTAMPTZ",
  ...KLINE_COLUMNS.map((c) => `${c.name} ${c.type === "int64" ? "BIGINT" : "DOUBLE"}`),
  "lot INTEGER",
  "source VARCHAR",
  "line BIGINT",
].join(", ");

/** Creates or empties a temporary table for staged bars. */
export async function stageBars(session: Session, name: string): Promise<void> {
  await session.run(`CREATE OR REPLACE TEMP TABLE ${ident(name)} (${STAGED_BARS})`);
}

const LANDING = "landing_bars";

const QUARTER_US = 15 * MINUTE_MS * 1000;
const QUARTER = `CAST(floor(epoch_us(timestamp) / ${QUARTER_US}) AS BIGINT)`;
const LOCAL_DATES = "local_dates";

/**
 * Lands staged bars: derives region, trade date and finality, sets aside what breaks a rule, and merges the rest.
 *
 * @param staged a table made by {@link stageBars}; it is dropped, so that the bars are not in memory twice.
 */
export async function landBars(
  session: Session,
  lake: Lake,
  table: TableSchema,
  staged: string,
  options: LandBarsOptions,
): Promise<LandReport> {
  const partition = table.partition.includes("month")
    ? "CAST(date_trunc('month', trade_date) AS DATE) AS month"
    : "CAST(year(trade_date) AS INTEGER) AS year";
  const finalEnd = perRegion(
    "region",
    ({ region }) => `make_timestamptz(${options.finalEnd[region] * 1000}::BIGINT)`,
  );
  await makeLocalDates(session, staged);
  await session.run(`CREATE OR REPLACE TEMP TABLE ${LANDING} AS
    SELECT * EXCLUDE (quarter), ${partition}, timestamp < ${finalEnd} AS is_final, ${BROKEN_RULE} AS rule
    FROM (SELECT *, ${regionSql("symbol")} AS region, ${QUARTER} AS quarter FROM ${ident(staged)})
      LEFT JOIN ${LOCAL_DATES} USING (region, quarter)`);
  await session.run(`DROP TABLE ${LOCAL_DATES}`);
  await session.run(`DROP TABLE ${ident(staged)}`);
  try {
    await setAsideBroken(session, table, options.runId);
    await setAsideRepeats(session, table, options.runId);
    return await upsert(session, lake, table, LANDING, options);
  } finally {
    await session.run(`DROP TABLE IF EXISTS ${LANDING}`);
  }
}

/**
 * Creates a table of the trade date of each quarter of an hour in the bars. Conversion of a time is slow, and a zone's
 * offset changes only at quarters of an hour, so each quarter is converted once.
 */
async function makeLocalDates(session: Session, staged: string): Promise<void> {
  await session.run(`CREATE OR REPLACE TEMP TABLE ${LOCAL_DATES} AS
    SELECT region, quarter, ${tradeDateSql(`make_timestamptz(quarter * ${QUARTER_US})`, "region")} AS trade_date
    FROM (SELECT DISTINCT ${regionSql("symbol")} AS region, ${QUARTER} AS quarter FROM ${ident(staged)})`);
}

async function setAsideBroken(session: Session, table: TableSchema, runId: string): Promise<void> {
  const [found] = await session.json<{ broken: bigint }>(`SELECT count(rule) AS broken FROM ${LANDING}`);
  if (found?.broken === 0n) return;
  await rejectBroken(session, runId, table, `${LANDING} WHERE rule IS NOT NULL`);
  await session.run(`DELETE FROM ${LANDING} WHERE rule IS NOT NULL`);
}

/** Sets aside all but the first of the bars with the same key in one delivery. */
async function setAsideRepeats(session: Session, table: TableSchema, runId: string): Promise<void> {
  await session.run(`CREATE OR REPLACE TEMP TABLE repeated AS
    SELECT symbol, timestamp FROM ${LANDING} GROUP BY ALL HAVING count(*) > 1`);
  const [found] = await session.json<{ keys: bigint }>("SELECT count(*) AS keys FROM repeated");
  if (found?.keys !== 0n) {
    await session.run(`CREATE OR REPLACE TEMP TABLE repeats AS
      SELECT b.rowid AS id, b.* FROM ${LANDING} b SEMI JOIN repeated USING (symbol, timestamp)
      QUALIFY row_number() OVER (PARTITION BY symbol, timestamp ORDER BY source, line, b.rowid) > 1`);
    await rejectRepeats(session, runId, table, "repeats");
    await session.run(`DELETE FROM ${LANDING} WHERE rowid IN (SELECT id FROM repeats)`);
    await session.run("DROP TABLE repeats");
  }
  await session.run("DROP TABLE repeated");
}
