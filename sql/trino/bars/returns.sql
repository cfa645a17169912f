-- Daily returns without the effect of ex-dates: relative to the close of the bar before at the price level of the day, where a
-- source says so (ex_events), to the previous close that the exchange states, else to the last close. The return of a day
-- without trades is 0; its overnight and intraday parts are null.
-- Grain: one row for each symbol and trading date. Inputs: raw.bars_1d, ex_events. Same rows: sql/views/bars/returns.sql;
-- logarithms may differ in their last bit.
CREATE OR REPLACE VIEW returns AS
SELECT
  symbol,
  trade_date,
  close,
  base,
  CASE WHEN base > 0 AND close > 0 THEN close / base - 1 END AS simple_return,
  CASE WHEN base > 0 AND close > 0 THEN ln(close / base) END AS log_return,
  CASE WHEN base > 0 AND open > 0 AND volume > 0 THEN open / base - 1 END AS overnight_return,
  CASE WHEN close > 0 AND open > 0 AND volume > 0 THEN close / open - 1 END AS intraday_return,
  is_final,
  region
FROM (
  SELECT b.symbol, trade_date, open, close, volume, is_final, b.region, coalesce(e.last_close / e.factor, base) AS base
  FROM (
    SELECT symbol, trade_date, open, close, volume, is_final, region,
      CASE WHEN prev_close > 0 AND is_finite(prev_close) THEN prev_close ELSE lag(close) OVER (PARTITION BY symbol ORDER BY "timestamp") END AS base
    FROM raw.bars_1d
  ) AS b
  LEFT JOIN ex_events AS e ON e.symbol = b.symbol AND e.ex_date = b.trade_date AND e.source IS NOT NULL
);

COMMENT ON VIEW returns IS 'Daily returns, free of ex-dates where a source has them, or states the previous close. One row for each symbol and trading date.';
