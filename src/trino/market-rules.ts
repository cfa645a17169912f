import { DAY_MS } from "../core/time.js";
import {
  adjustedPriceSql,
  exactSharesSql,
  int64Sql,
  sharesSql,
  statedPriceSql,
} from "../db/market/bar-sql.js";
import { sessionBarEndSql } from "../db/market/bucket-sql.js";
import { exTermsSql, isExEventSql, isUnknownStretchSql } from "../db/market/ex-terms-sql.js";
import {
  downLimitSql,
  firstLimitSql,
  isAtLimitDownSql,
  isAtLimitUpSql,
  isNearLimitSql,
  isRefutedSql,
  isTradableSql,
  limitPercentSql,
  priceDecimalsSql,
  unlimitedSessionsSql,
} from "../db/market/limit-sql.js";
import { isSessionMinuteSql, lotSql, perRegion, sessionMinutesSql } from "../db/market/region-sql.js";
import { fiscalQuarterSql, knownVersionsSql, twelveMonthsSql } from "../db/market/statement-sql.js";
import { literal } from "../db/quote.js";
import { DAYS_OF_FIVE_SESSIONS } from "../market/price-limits.js";
import { REGIONS } from "../market/regions.js";

/** A rule as SQL of Trino: the number of its parameters, and the expression, or relation, for their SQL. */
export interface TrinoRule {
  readonly parameters: number;
  readonly sql: (...values: string[]) => string;
}

const EPOCH = "TIMESTAMP '1970-01-01 00:00:00.000 UTC'";

/**
 * Replaces the functions in expressions of `db/market` that have another name in Trino. Everything else means the same
 * there, which a comparison of all rows verifies.
 */
function inTrino(sql: string): string {
  return sql
    .replaceAll(" // ", " / ")
    .replaceAll(" AS HUGEINT)", " AS DECIMAL(38, 0))")
    .replaceAll("regexp_matches(", "regexp_like(")
    .replaceAll("isfinite(", "is_finite(");
}

const localDateSql = (instant: string, region: string): string =>
  perRegion(region, ({ zone }) => `CAST(${instant} AT TIME ZONE ${literal(zone)} AS DATE)`);

/**
 * The versions of statements with the dates `known_from` and `known_to` between which each was the newest known one of
 * its symbol; of the same date the last one. A restated older period is never the newest.
 */
function knownStatementsSql(table: string): string {
  const order =
    "PARTITION BY symbol ORDER BY known_from, period_end, first_seen_at, announce_date NULLS FIRST";
  return `SELECT *, lead(known_from) OVER (PARTITION BY symbol ORDER BY known_from) AS known_to
    FROM (
      SELECT *, max(period_end) OVER (${order} ROWS UNBOUNDED PRECEDING) AS newest,
        lead(known_from) OVER (${order}) AS next_known_from
      FROM (${knownVersionsSql(table, localDateSql)}))
    WHERE period_end = newest AND next_known_from IS DISTINCT FROM known_from`;
}

/** As the macro `local_midnight` in DuckDB. `db/market/region-sql` explains why it uses noon. */
function localMidnightSql(date: string, region: string): string {
  const cases = Object.values(REGIONS).flatMap((facts) =>
    facts.steady === undefined
      ? []
      : [
          `WHEN ${region} = ${literal(facts.region)} AND ${date} >= DATE ${literal(facts.steady.since)}
            THEN date_diff('day', DATE '1970-01-01', ${date}) * ${DAY_MS} - ${facts.steady.offsetMs}`,
        ],
  );
  const noon = perRegion(
    region,
    ({ zone }) => `with_timezone(CAST(${date} AS TIMESTAMP(3)) + INTERVAL '12' HOUR, ${literal(zone)})`,
  );
  return `CASE ${cases.join(" ")} ELSE date_diff('millisecond', ${EPOCH}, ${noon}) - ${DAY_MS / 2} END`;
}

/** What the views in `sql/trino` call like functions: Trino stores functions only in catalogs of some connectors. */
export const TRINO_RULES: Readonly<Record<string, TrinoRule>> = {
  adjusted_price: {
    parameters: 3,
    sql: (price, adjustment, step) => adjustedPriceSql(price, { sql: adjustment }, step),
  },
  at_limit_down: { parameters: 2, sql: (price, limit) => isAtLimitDownSql(price, limit) },
  is_near_limit: {
    parameters: 4,
    sql: (...values) => isNearLimitSql(...(values as [string, string, string, string])),
  },
  at_limit_up: { parameters: 2, sql: (price, limit) => isAtLimitUpSql(price, limit) },
  down_limit: { parameters: 1, sql: (percent) => downLimitSql(percent) },
  first_limit: { parameters: 3, sql: (symbol, listed, sessions) => firstLimitSql(symbol, listed, sessions) },
  is_refuted: {
    parameters: 5,
    sql: (...values) => isRefutedSql(...(values as [string, string, string, string, string])),
  },
  unlimited_sessions: {
    parameters: 3,
    sql: (symbol, type, listed) => unlimitedSessionsSql(symbol, type, listed),
  },
  exact_shares: { parameters: 2, sql: (volume, lot) => exactSharesSql(volume, lot) },
  ex_terms: { parameters: 2, sql: (actions, factors) => exTermsSql(actions, factors) },
  is_ex_event: { parameters: 2, sql: (last, prev) => isExEventSql(last, prev) },
  is_session_minute: {
    parameters: 2,
    sql: (region, time) => isSessionMinuteSql(region, time),
  },
  is_unknown_stretch: { parameters: 2, sql: (after, before) => isUnknownStretchSql(after, before) },
  is_tradable: {
    parameters: 5,
    sql: (...values) => {
      const [volume, low, high, limitUp, limitDown] = values as [string, string, string, string, string];
      return isTradableSql({ volume, low, high, limitUp, limitDown });
    },
  },
  fiscal_quarter: {
    parameters: 7,
    sql: (...values) => fiscalQuarterSql(...(values as Parameters<typeof fiscalQuarterSql>)),
  },
  known_statements: { parameters: 1, sql: (table) => knownStatementsSql(table) },
  known_versions: { parameters: 1, sql: (table) => knownVersionsSql(table, localDateSql) },
  limit_percent: {
    parameters: 4,
    sql: (...values) => limitPercentSql(...(values as [string, string, string, string])),
  },
  limits_from: {
    parameters: 4,
    sql: (listed, sessions, listedSession, sixth) =>
      `CASE WHEN ${sessions} <= 1 THEN date_add('day', ${sessions}, ${listed}) WHEN ${listedSession} IS NULL THEN date_add('day', ${DAYS_OF_FIVE_SESSIONS}, ${listed}) ELSE coalesce(${sixth}, DATE '9999-12-31') END`,
  },
  local_date: { parameters: 2, sql: (instant, region) => localDateSql(instant, region) },
  local_midnight: {
    parameters: 2,
    sql: (date, region) => localMidnightSql(date, region),
  },
  period_month: {
    parameters: 1,
    sql: (end) => `date_add('day', -1, date_trunc('month', date_add('day', 10, ${end})))`,
  },
  price_decimals: { parameters: 2, sql: (symbol, type) => priceDecimalsSql(symbol, type) },
  region_lot: { parameters: 1, sql: (region) => lotSql(region) },
  relative_change: {
    parameters: 2,
    sql: (now, before) => `CASE WHEN ${before} <> 0 THEN (${now} - ${before}) / abs(${before}) END`,
  },
  session_bar_end: {
    parameters: 3,
    sql: (region, local, step) => sessionBarEndSql(region, local, step),
  },
  session_minutes: { parameters: 1, sql: (region) => sessionMinutesSql(region) },
  shares_of: { parameters: 2, sql: (volume, lot) => sharesSql(volume, lot) },
  stated_price: { parameters: 2, sql: (price, close) => statedPriceSql(price, close) },
  // A price in whole ten-thousandths, rounded as DuckDB does when it converts to a decimal with four places.
  ten_thousandths: { parameters: 1, sql: (price) => `round(${price} * 1e4 + 1e-9)` },
  twelve_months: {
    parameters: 6,
    sql: (...values) => twelveMonthsSql(...(values as Parameters<typeof twelveMonthsSql>)),
  },
  // The quotient of two decimals without places has no places either, and is rounded half up.
  units_of: { parameters: 2, sql: (shares, unit) => int64Sql(`${shares} / ${unit}`) },
};

export function trinoRuleSql({ sql }: TrinoRule, values: readonly string[]): string {
  return `(${inTrino(sql(...values.map((value) => (/^[\w."]+$/.test(value) ? value : `(${value})`))))})`;
}
