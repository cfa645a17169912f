import type { TradingDate } from "../../core/time.js";
import { literal } from "../quote.js";
import type { Session } from "../session/session.js";

/** Previous closes that differ from the close of the bar before, over sessions that nobody vouches for. */
export interface UnvouchedCloses {
  readonly closes: number;
  readonly symbols: number;
  /** The first ones of the first symbols. */
  readonly examples: readonly UnvouchedClose[];
}

interface UnvouchedClose {
  readonly symbol: string;
  /** The days of the bar, and of the bar before. */
  readonly date: TradingDate;
  readonly last: TradingDate;
}

/** SQL of whether something is left out of a row `r` of restated_closes with a hole; the audit unvouched_closes has it too. */
export const IS_UNVOUCHED = `(NOT EXISTS (FROM ex_events AS e WHERE e.symbol = r.symbol AND e.ex_date = r.trade_date)
  OR EXISTS (FROM ex_terms() AS t WHERE t.priority = 1 AND t.paid <> 0 AND t.symbol = r.symbol
    AND t.ex_date > r.last_date AND t.ex_date <= r.trade_date))`;

const EXAMPLES = 3;

/**
 * Symbols with a session, between their first bar and their last one, that has neither a bar nor a response without
 * one, or with three weeks of which the calendar knows nothing: counting days is cheaper than comparing each bar with
 * the one before.
 */
const LACKING = `WITH sessions AS MATERIALIZED (
    SELECT region, trade_date, row_number() OVER (PARTITION BY region ORDER BY trade_date) AS nth FROM raw.trading_days),
  lives AS MATERIALIZED (
    SELECT symbol, region, count(s.nth) AS bars, min(trade_date) AS first_date, max(trade_date) AS last_date
    FROM raw.bars_1d LEFT JOIN sessions AS s USING (region, trade_date) GROUP BY symbol, region),
  absent AS MATERIALIZED (
    SELECT l.symbol, a.first_date, s.trade_date
    FROM lives AS l
    JOIN raw.absences_1d AS a ON a.symbol = l.symbol AND a.first_date > l.first_date AND a.last_date < l.last_date
    JOIN sessions AS s ON s.region = l.region AND s.trade_date BETWEEN a.first_date AND a.last_date),
  -- A stretch with a bar in it vouches for nothing.
  known AS (
    SELECT symbol, count(*) AS days
    FROM absent ANTI JOIN (SELECT DISTINCT symbol, first_date FROM absent SEMI JOIN raw.bars_1d USING (symbol, trade_date))
      USING (symbol, first_date)
    GROUP BY symbol)
  SELECT o.symbol
  FROM lives AS o
  ASOF LEFT JOIN sessions AS f ON f.region = o.region AND f.trade_date >= o.first_date
  ASOF LEFT JOIN sessions AS l ON l.region = o.region AND l.trade_date <= o.last_date
  LEFT JOIN known AS k ON k.symbol = o.symbol
  WHERE l.nth - f.nth + 1 > o.bars + coalesce(k.days, 0) OR EXISTS (
    FROM unknown_spans AS u
    WHERE u.region = o.region AND is_unknown_stretch(
      greatest(o.first_date, coalesce(u.after_date, o.first_date)), least(o.last_date, coalesce(u.before_date, o.last_date))))
  ORDER BY o.symbol`;

/**
 * Counts the unvouched previous closes of some symbols (a SELECT; @default all) until a day, `YYYY-MM-DD`: days of
 * which the stated previous close, or cash that was paid, does not count, because the lake may lack the bars before.
 */
export async function unvouchedCloses(
  session: Session,
  of: { readonly symbols?: string; readonly until?: string } = {},
): Promise<UnvouchedCloses> {
  const lacking = await session.json<{ symbol: string }>(
    of.symbols === undefined ? LACKING : `SELECT symbol FROM (${LACKING}) WHERE symbol IN (${of.symbols})`,
  );
  if (lacking.length === 0) return { closes: 0, symbols: 0, examples: [] };
  const until = of.until === undefined ? "" : ` AND trade_date <= DATE ${literal(of.until)}`;
  const rows = await session.json<UnvouchedClose>(
    `SELECT symbol, CAST(trade_date AS VARCHAR) AS date, CAST(last_date AS VARCHAR) AS last FROM restated_closes AS r
     WHERE has_hole AND ${IS_UNVOUCHED} AND symbol IN (${lacking.map(({ symbol }) => literal(symbol)).join(", ")})${until}
     ORDER BY symbol, trade_date`,
  );
  const first = new Map<string, UnvouchedClose>();
  for (const row of rows) if (!first.has(row.symbol)) first.set(row.symbol, row);
  return { closes: rows.length, symbols: first.size, examples: [...first.values()].slice(0, EXAMPLES) };
}
