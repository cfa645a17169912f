import { MINUTE_MS } from "../../core/time.js";
import { BAR_AGGREGATES, exactSharesSql, int64Sql, statedPriceSql } from "../../db/market/bar-sql.js";
import { localMidnightSql, perRegion, tradeDateSql } from "../../db/market/region-sql.js";
import { knownVersionsSql } from "../../db/market/statement-sql.js";
import { ident, literal } from "../../db/quote.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { addDays, finalEnd, openMinute } from "../../market/sessions.js";
import { instantOf, localDate } from "../../market/zone.js";
import { CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES } from "../../schema/actions.js";
import { ABSENCES_1D, BARS_1D, BARS_1M, TRADING_DAYS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../../schema/reference.js";
import { isStatementName } from "../../schema/statements.js";

/** What decides which rows are visible in a replay. */
export interface Visibility {
  /** Epoch milliseconds, inclusive. */
  readonly until: number;
  /** Whether the first version of reference data counts as known before the lake first saw it. */
  readonly assumesReference: boolean;
}

/** Columns that group the rows of a reference table of which the first versions count as known before. */
const FIRST_SEEN_BY = new Map<TableSchema, string>([
  [INSTRUMENTS, "symbol"],
  [EXCHANGES, "exchange"],
  [UNIVERSES, "id"],
  [UNIVERSE_MEMBERS, "id"],
]);

/**
 * A SELECT of the rows of a table that were visible at an instant, in the columns of the table.
 *
 * - Minute bars: those that have ended.
 * - Daily bars: those of days that are final. The bar of a running day is computed from the minutes that have ended,
 *   see {@link formingDaysSql}.
 * - Reference data: the versions that the lake had seen; a version that ended after the instant is current.
 * - Statements: of each period the version that counted then: those whose day began before, or that the lake had seen,
 *   see {@link knownVersionsSql}.
 * - Trading days, and days without a bar of a symbol: those whose session had opened.
 * - Corporate actions: versions that the lake had seen; the first one from the day after its announcement, too, and from
 *   the opening of its ex-date, as the view corporate_action_versions has it.
 * - Factors of ex-events: those whose session had opened. Changes of symbols: those of days that had begun.
 *
 * @param relation a SELECT of all rows.
 * @param minutes for daily bars: a SELECT of minute bars that include the running day's.
 */
export function visibleRowsSql(
  table: TableSchema,
  relation: string,
  visibility: Visibility,
  minutes?: string,
): string {
  const { until } = visibility;
  const instant = instantSql(until);
  if (isStatementName(table.name)) {
    const today = todaySql(until);
    return `SELECT * EXCLUDE known_from FROM (${knownVersionsSql(`(${relation})`, tradeDateSql)})
      WHERE first_seen_at <= ${instant} OR known_from < ${today}
      QUALIFY row_number() OVER (PARTITION BY symbol, period_end
        ORDER BY least(known_from, ${today}) DESC, first_seen_at DESC, announce_date DESC NULLS LAST) = 1`;
  }
  switch (table) {
    case BARS_1M:
      return `SELECT * FROM (${relation}) WHERE "timestamp" <= ${instant}`;
    case BARS_1D: {
      const landed = `SELECT * FROM (${relation}) WHERE "timestamp" < ${finalEndSql(until)}`;
      return minutes === undefined
        ? landed
        : `${landed} UNION ALL BY NAME ${formingDaysSql(relation, minutes, until)}`;
    }
    case TRADING_DAYS:
      return `SELECT * FROM (${relation}) WHERE trade_date <= ${openedSql(until)}`;
    case ABSENCES_1D: {
      const last = openedSql(until);
      return `SELECT * REPLACE (least(last_date, ${last}) AS last_date) FROM (${relation}) WHERE first_date <= ${last}`;
    }
    case CORPORATE_ACTIONS: {
      const first = "first_seen_at = min(first_seen_at) OVER (PARTITION BY symbol, ex_date, kind, source)";
      return `SELECT * FROM (${relation})
        QUALIFY first_seen_at <= ${instant} OR (${first} AND (announce_date < ${todaySql(until)} OR ex_date <= ${openedSql(until)}))`;
    }
    case EX_FACTORS:
      return `SELECT * FROM (${relation}) WHERE ex_date <= ${openedSql(until)}`;
    case SYMBOL_CHANGES: {
      const today = todaySql(until);
      return `SELECT * REPLACE (CASE WHEN until_date <= ${today} THEN until_date END AS until_date)
        FROM (${relation}) WHERE from_date <= ${today}`;
    }
    default:
      return versionsSql(table, relation, visibility);
  }
}

function versionsSql(table: TableSchema, relation: string, { until, assumesReference }: Visibility): string {
  const group = FIRST_SEEN_BY.get(table);
  if (group === undefined) throw new Error(`table ${table.name} has no rule of what was visible`);
  const instant = instantSql(until);
  const isSeen = `valid_from <= ${instant}`;
  const condition = assumesReference
    ? `QUALIFY ${isSeen} OR valid_from = min(valid_from) OVER (PARTITION BY ${ident(group)})`
    : `WHERE ${isSeen}`;
  return `SELECT * REPLACE (CASE WHEN valid_to > ${instant} THEN NULL ELSE valid_to END AS valid_to)
    FROM (${relation}) ${condition}`;
}

/**
 * The daily bars of days that are not final: the ended minutes of each symbol, aggregated by the usual rules. The
 * previous close, which the exchange states before the day begins, is that of the day's landed bar where the minutes
 * lack it. Only the symbols of the CTE `requested` are read. Volumes are in shares.
 */
function formingDaysSql(relation: string, minutes: string, until: number): string {
  const shares = int64Sql(`sum(${exactSharesSql("volume", "lot")})`);
  const aggregates = Object.entries(BAR_AGGREGATES).map(([name, sql]) => `${sql} AS ${name}`);
  const stated = ["open", "high", "low"].map((name) => `${statedPriceSql(name, "close")} AS ${name}`);
  const midnight = `make_timestamptz(${localMidnightSql("trade_date", "region")} * 1000)`;
  return `(
    SELECT f.* REPLACE (coalesce(f.prev_close, d.prev_close) AS prev_close)
    FROM (
      SELECT symbol, ${midnight} AS "timestamp", trade_date, region, year(trade_date) AS "year",
        ${aggregates.join(", ")}, ${shares} AS volume, CAST(1 AS INTEGER) AS lot, false AS is_final
      FROM (
        SELECT * REPLACE (${stated.join(", ")}) FROM (${minutes})
        WHERE "timestamp" >= ${finalEndSql(until)} AND "timestamp" <= ${instantSql(until)}
          AND symbol IN (SELECT symbol FROM requested))
      GROUP BY symbol, trade_date, region) AS f
    LEFT JOIN (
      SELECT symbol, "timestamp", prev_close FROM (${relation}) WHERE symbol IN (SELECT symbol FROM requested)) AS d
      USING (symbol, "timestamp"))`;
}

/** SQL of the newest date of each region whose session has opened. */
function openedSql(until: number): string {
  return perRegion("region", ({ region }) => `DATE ${literal(lastOpened(region, until))}`);
}

/** SQL of the date in each region. */
function todaySql(until: number): string {
  return perRegion("region", ({ zone }) => `DATE ${literal(localDate(until, zone))}`);
}

/** SQL of the start of the first day in each region that is not final. */
function finalEndSql(until: number): string {
  return perRegion("region", ({ region }) => instantSql(finalEnd(region, until)));
}

/** The earliest instant (epoch milliseconds) of a day that is not final in some region. */
export function runningSince(until: number): number {
  return Math.min(...Object.values(REGIONS).map(({ region }) => finalEnd(region, until)));
}

/** The newest date of a region whose session has opened. */
export function lastOpened(region: Region, until: number): string {
  const { zone } = REGIONS[region];
  const today = localDate(until, zone);
  return instantOf(today, zone, openMinute(region)) + MINUTE_MS <= until ? today : addDays(today, -1);
}

function instantSql(ms: number): string {
  return `make_timestamptz(${BigInt(ms) * 1000n})`;
}
