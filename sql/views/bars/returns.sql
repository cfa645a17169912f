-- Daily returns without the effect of ex-dates: relative to the close of the bar before at the price level of the day, where a
-- source says so (ex_events), to the previous close that the exchange states, else to the last close. The return of a day
-- without trades is 0; its overnight and intraday parts are null.
-- Grain: one row for each symbol and trading date. Inputs: raw.bars_1d, ex_events, has_ex_dates.
-- Conditions on symbol reach the files; conditions on trade_date do not, because the bar before may be at any earlier
-- time.
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
  SELECT b.symbol, trade_date, open, close, volume, is_final, region, coalesce(told_close, base) AS base
  FROM (
    SELECT symbol, trade_date, open, close, volume, is_final, region,
      CASE WHEN prev_close > 0 AND isfinite(prev_close) THEN prev_close ELSE lag(close) OVER (PARTITION BY symbol ORDER BY "timestamp") END AS base
    FROM raw.bars_1d
  ) AS b
  LEFT JOIN query(CASE
    WHEN has_ex_dates() THEN 'SELECT symbol, ex_date, last_close / factor AS told_close FROM ex_events WHERE source IS NOT NULL'
    ELSE 'SELECT NULL::VARCHAR AS symbol, NULL::DATE AS ex_date, NULL::DOUBLE AS told_close WHERE false'
  END) AS e ON e.symbol = b.symbol AND e.ex_date = b.trade_date
);

COMMENT ON VIEW returns IS 'Daily returns, free of ex-dates where a source has them, or states the previous close. One row for each symbol and trading date.';
COMMENT ON COLUMN returns.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN returns.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN returns.close IS 'Last price, unadjusted. [currency]';
COMMENT ON COLUMN returns.base IS 'Close of the bar before at the price level of the day: by factors or corporate actions, else prev_close as the exchange states it; where there is neither, the close itself, splits and dividends included. [currency]';
COMMENT ON COLUMN returns.simple_return IS 'close / base - 1. [ratio]';
COMMENT ON COLUMN returns.log_return IS 'ln(close / base). [log ratio]';
COMMENT ON COLUMN returns.overnight_return IS 'open / base - 1; null on a day without trades. [ratio]';
COMMENT ON COLUMN returns.intraday_return IS 'close / open - 1; null on a day without trades. [ratio]';
COMMENT ON COLUMN returns.is_final IS 'False while the day''s session was still running when the bar was asked for.';
COMMENT ON COLUMN returns.region IS 'Region: CN, HK or US.';
