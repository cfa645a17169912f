/** A query over the views, and its equivalent over native tables without views. */
export interface ViewQuestion {
  readonly name: string;
  readonly sql: string;
  readonly byHand: string;
  /** Columns of the result that are summed, to compare the two. */
  readonly numbers: readonly string[];
}

/** Backward adjustment by hand: the running product of each symbol's ex-factors. */
function adjustedByHand(where: string): string {
  return `SELECT symbol, trade_date, close * product(factor) OVER (PARTITION BY symbol ORDER BY trade_date) AS close, amount
    FROM (SELECT symbol, trade_date, close, amount, CASE WHEN prev_close > 0 AND last_close > 0
          AND abs(last_close / prev_close - 1) >= 1e-9 THEN last_close / prev_close ELSE 1 END AS factor
      FROM (SELECT symbol, trade_date, close, amount, prev_close,
          lag(close) OVER (PARTITION BY symbol ORDER BY trade_date) AS last_close
        FROM bars_1d ${where}))`;
}

/** Five minutes of a Chinese session by hand: the morning from 9:30, the afternoon from 13:00. */
function fiveMinutesByHand(where: string): string {
  return `SELECT symbol, bucket, arg_min(open, "timestamp") AS open, max(high) AS high, min(low) AS low,
      arg_max(close, "timestamp") AS close, sum(volume) AS volume, sum(amount) AS amount
    FROM (SELECT *, epoch_ms("timestamp") // 60000 AS minute, (minute + 4) // 5 * 5 AS bucket FROM bars_1m ${where})
    GROUP BY symbol, bucket`;
}

/** The newest statement known on each of a symbol's days, by hand. */
const DAILY_PANEL_BY_HAND = `SELECT b.trade_date, sum(b.close) AS close, sum(s.total_equity) AS total_equity,
    sum(c.net_operating_cash_flow) AS cash_flow
  FROM bars_1d b
  ASOF LEFT JOIN (SELECT * FROM balance_sheet QUALIFY period_end = max(period_end)
    OVER (PARTITION BY symbol ORDER BY announce_date RANGE UNBOUNDED PRECEDING)) s
    ON s.symbol = b.symbol AND b.trade_date >= s.announce_date
  ASOF LEFT JOIN (SELECT * FROM cash_flow QUALIFY period_end = max(period_end)
    OVER (PARTITION BY symbol ORDER BY announce_date RANGE UNBOUNDED PRECEDING)) c
    ON c.symbol = b.symbol AND b.trade_date >= c.announce_date
  GROUP BY b.trade_date`;

const DAY = "DATE '2025-06-16'";

export const VIEW_QUESTIONS: readonly ViewQuestion[] = [
  {
    name: "a symbol's days, adjusted",
    sql: `SELECT trade_date, close FROM adjusted('1d', 'backward') WHERE symbol = '600003.SH'`,
    byHand: adjustedByHand("WHERE symbol = '600003.SH'"),
    numbers: ["close"],
  },
  {
    name: "a day's cross-section, with fundamentals",
    sql: `SELECT symbol, close, total_equity, net_operating_cash_flow FROM daily_fundamentals WHERE trade_date = ${DAY}`,
    byHand: `SELECT b.symbol, b.close, s.total_equity, c.net_operating_cash_flow
      FROM bars_1d b
      LEFT JOIN (SELECT symbol, arg_max(total_equity, period_end) AS total_equity FROM balance_sheet
        WHERE announce_date <= ${DAY} GROUP BY symbol) s USING (symbol)
      LEFT JOIN (SELECT symbol, arg_max(net_operating_cash_flow, period_end) AS net_operating_cash_flow FROM cash_flow
        WHERE announce_date <= ${DAY} GROUP BY symbol) c USING (symbol)
      WHERE b.trade_date = ${DAY}`,
    numbers: ["close", "total_equity", "net_operating_cash_flow"],
  },
  {
    name: "all days, adjusted",
    sql: `SELECT trade_date, avg(close) AS close, sum(amount) AS amount FROM adjusted('1d', 'backward') GROUP BY trade_date`,
    byHand: `SELECT trade_date, avg(close) AS close, sum(amount) AS amount FROM (${adjustedByHand("")}) GROUP BY trade_date`,
    numbers: ["close", "amount"],
  },
  {
    name: "a symbol's year of minutes, as 5-minute bars",
    sql: `SELECT * FROM bars('5m') WHERE symbol = '600003.SH'`,
    byHand: fiveMinutesByHand("WHERE symbol = '600003.SH'"),
    numbers: ["open", "high", "low", "close", "volume", "amount"],
  },
  {
    name: "a day's minutes, as 5-minute bars",
    sql: `SELECT * FROM bars('5m') WHERE trade_date = ${DAY}`,
    byHand: fiveMinutesByHand(`WHERE trade_date = ${DAY}`),
    numbers: ["open", "high", "low", "close", "volume", "amount"],
  },
  {
    name: "all days, with fundamentals",
    sql: `SELECT trade_date, sum(close) AS close, sum(total_equity) AS total_equity,
        sum(net_operating_cash_flow) AS cash_flow
      FROM daily_fundamentals GROUP BY trade_date`,
    byHand: DAILY_PANEL_BY_HAND,
    numbers: ["close", "total_equity", "cash_flow"],
  },
];
