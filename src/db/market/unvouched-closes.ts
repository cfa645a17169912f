import type { TradingDate } from "../../core/time.js";
import { literal } from "../quote.js";
import type { Session } from "../session/session.js";

/** Previous closes that differ from the close of the bar before, over sessions that nobody vouches for. */
export interface UnvouchedCloses {
  readonly closes: number;
  /** Symbols that have one, in order. */
  readonly symbols: readonly string[];
  /** The first ones of the first symbols. */
  readonly examples: readonly UnvouchedClose[];
}

export interface UnvouchedClose {
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

/** Days of which it is known what is unvouched. */
export interface VouchedDays {
  /** The last one, `YYYY-MM-DD`. */
  readonly last: TradingDate;
  readonly found: UnvouchedCloses;
  /** Symbols of which nothing is known. */
  readonly added: readonly string[];
}

/**
 * Counts the unvouched previous closes of some symbols (a SELECT; @default all) until a day, `YYYY-MM-DD`: days of
 * which the stated previous close, or cash that was paid, does not count, because the lake may lack the bars before.
 * @param of.known what was found until an earlier day, of which the lake has changed nothing since: then only the bars
 * of later days are searched.
 */
export async function unvouchedCloses(
  session: Session,
  of: { readonly symbols?: string; readonly until?: string; readonly known?: VouchedDays | undefined } = {},
): Promise<UnvouchedCloses> {
  const { known, until } = of;
  const lackingSql = known === undefined ? LACKING : await lackingAfter(session, known.last, until);
  const lacking = await session.json<{ symbol: string }>(
    of.symbols === undefined
      ? lackingSql
      : `SELECT symbol FROM (${lackingSql}) WHERE symbol IN (${of.symbols})`,
  );
  const added = known?.added ?? [];
  const inList = (symbols: readonly string[]): string => `symbol IN (${symbols.map(literal).join(", ")})`;
  const conditions = [
    ...(lacking.length === 0
      ? []
      : [
          `${inList(lacking.map(({ symbol }) => symbol))}${known ? ` AND trade_date > DATE ${literal(known.last)}` : ""}`,
        ]),
    ...(added.length === 0 ? [] : [inList(added)]),
  ];
  const rows =
    conditions.length === 0
      ? []
      : await session.json<UnvouchedClose>(
          `SELECT symbol, CAST(trade_date AS VARCHAR) AS date, CAST(last_date AS VARCHAR) AS last FROM restated_closes AS r
           WHERE has_hole AND ${IS_UNVOUCHED} AND (${conditions.join(" OR ")})
             ${until === undefined ? "" : `AND trade_date <= DATE ${literal(until)}`}
           ORDER BY symbol, trade_date`,
        );
  const first = new Map(known?.found.examples.map((example) => [example.symbol, example]));
  for (const row of rows) if (!first.has(row.symbol)) first.set(row.symbol, row);
  const symbols = new Set([...(known?.found.symbols ?? []), ...rows.map(({ symbol }) => symbol)]);
  return {
    closes: (known?.found.closes ?? 0) + rows.length,
    symbols: [...symbols].sort(),
    examples: [...first.values()].sort((a, b) => (a.symbol < b.symbol ? -1 : 1)).slice(0, EXAMPLES),
  };
}

/**
 * SQL of symbols that lack a session between a bar after a day and the bar before it: those without a bar in each session of
 * their region from the last one until that day on, and all where the calendar does not know these.
 */
async function lackingAfter(session: Session, day: string, until = "9999-12-31"): Promise<string> {
  const [after, end] = [day, until].map((date) => `DATE ${literal(date)}`) as [string, string];
  const regions = await session.json<{ region: string; start: string; sessions: number; isKnown: boolean }>(
    `SELECT region, CAST(start AS VARCHAR) AS start, CAST(sessions AS INTEGER) AS sessions, NOT EXISTS (
       FROM unknown_spans AS u WHERE u.region = d.region AND is_unknown_stretch(
         greatest(start, coalesce(u.after_date, start)), least(${end}, coalesce(u.before_date, ${end})))) AS "isKnown"
     FROM (SELECT region, max(trade_date) FILTER (trade_date <= ${after}) AS start,
         count(*) FILTER (trade_date > ${after} AND trade_date <= ${end}) + 1 AS sessions
       FROM raw.trading_days GROUP BY region) AS d
     WHERE start IS NOT NULL`,
  );
  const known = regions.filter(({ isKnown }) => isKnown);
  const from = known.reduce((least, { start }) => (start < least ? start : least), day);
  const lacksNone = known.map(
    ({ region, start, sessions }) =>
      `region = ${literal(region)} AND count(t.trade_date) FILTER (b.trade_date >= DATE ${literal(start)}) = ${sessions}`,
  );
  return `SELECT b.symbol FROM raw.bars_1d AS b LEFT JOIN raw.trading_days AS t USING (region, trade_date)
    WHERE b.trade_date BETWEEN DATE ${literal(from)} AND ${end}
    GROUP BY b.symbol, b.region
    HAVING max(b.trade_date) > ${after} AND NOT (${lacksNone.map((none) => `(b.${none})`).join(" OR ") || "false"})`;
}
