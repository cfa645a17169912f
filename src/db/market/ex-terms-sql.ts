import { LEAST_EX_CHANGE } from "../../market/ex-rule.js";
import { UNKNOWN_DAYS } from "../../market/trading-calendar.js";
import { literal } from "../quote.js";

/**
 * Whether a day is an ex-date, by the rule of `exFactor`: compares the last bar's close with the stated previous close.
 */
export function isExEventSql(lastClose: string, prevClose: string): string {
  return `${prevClose} > 0 AND isfinite(${prevClose}) AND ${lastClose} > 0 AND isfinite(${lastClose} / ${prevClose}) AND abs(${lastClose} / ${prevClose} - 1) >= ${LEAST_EX_CHANGE}`;
}

/** Whether the days between two dates are unknown, by the rule of `unknownSpans`. None of them is a known trading day. */
export function isUnknownStretchSql(after: string, before: string): string {
  return `date_diff('day', ${after}, ${before}) >= ${UNKNOWN_DAYS}`;
}

const ratioOf = (kind: string): string => `max(CASE WHEN kind = ${literal(kind)} THEN ratio END)`;

/**
 * A SELECT of what sources say of each ex-date: who held one share has so many `shares` for it, and has `paid` so much; the close
 * of the session before, at the new price level, is (close + paid) / shares. Of a factor these are the factor and 0. Of the
 * actions of a day, with cash c, new shares s and r rights at the price q for one share, this is the theoretical ex-price
 * (close - c + r q) / (1 + s + r), as the exchanges of Shanghai and Shenzhen state it in their trading rules. `priority` is 1
 * for what counts: a factor before actions, then the source that the lake saw first, whatever it has corrected since. Actions
 * that do not say what they are worth (rights without a price, a spin-off or another one without cash) are left out with the
 * others of their day and source. It has a form that DuckDB and Trino both read.
 *
 * @param actions SQL of a relation with all versions of actions. @param factors SQL of a relation with factors.
 * @param isKnown SQL of which version of an action counts. @default the newest
 */
export function exTermsSql(actions: string, factors: string, isKnown = "newness = 1"): string {
  return `SELECT symbol, ex_date, shares, paid, witness, source, region,
    row_number() OVER (PARTITION BY symbol, ex_date ORDER BY witness DESC, seen_at, source) AS priority
  FROM (
    SELECT symbol, ex_date, factor AS shares, CAST(0 AS DOUBLE) AS paid, 'factor' AS witness, source, first_seen_at AS seen_at, region
    FROM ${factors} AS f
    UNION ALL
    SELECT symbol, ex_date, shares, cost - cash AS paid, 'actions' AS witness, source, seen_at, region
    FROM (
      SELECT symbol, ex_date, source, region,
        coalesce(sum(coalesce(cash, CASE WHEN kind = 'spin_off' THEN ratio * price END)), 0) AS cash,
        coalesce(${ratioOf("split")}, 1) * coalesce(${ratioOf("consolidation")}, 1)
          + coalesce(${ratioOf("stock_dividend")}, 0) + coalesce(${ratioOf("rights")}, 0) AS shares,
        coalesce(max(CASE WHEN kind = 'rights' THEN ratio * price END), 0) AS cost,
        bool_and(CASE kind
          WHEN 'rights' THEN price IS NOT NULL
          WHEN 'spin_off' THEN cash IS NOT NULL OR ratio * price IS NOT NULL
          WHEN 'other' THEN cash IS NOT NULL
          ELSE true
        END) AS is_whole,
        min(seen_at) AS seen_at
      FROM (
        SELECT *, min(first_seen_at) OVER (PARTITION BY symbol, ex_date, source) AS seen_at,
          row_number() OVER (PARTITION BY symbol, ex_date, kind, source ORDER BY first_seen_at DESC) AS newness
        FROM ${actions} AS a
      ) AS versions
      WHERE ${isKnown}
      GROUP BY symbol, ex_date, source, region
    ) AS days
    WHERE is_whole AND shares > 0
  ) AS said`;
}
