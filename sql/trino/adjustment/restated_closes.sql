-- Days whose stated previous close differs from the close of the symbol's bar before. See
-- sql/views/adjustment/restated_closes.sql.
-- Grain: one row for each symbol and day. Inputs: raw.bars_1d, raw.trading_days, raw.absences_1d.
CREATE OR REPLACE VIEW restated_closes AS
SELECT
  b.symbol,
  b.trade_date,
  b.last_date,
  b.last_close,
  b.prev_close,
  bool_or(d.trade_date IS NOT NULL AND a.symbol IS NULL) AS has_hole,
  b.region
FROM (
  SELECT symbol, region, trade_date, prev_close,
    lag(close) OVER (PARTITION BY symbol ORDER BY "timestamp") AS last_close,
    lag(trade_date) OVER (PARTITION BY symbol ORDER BY "timestamp") AS last_date
  FROM raw.bars_1d
) AS b
LEFT JOIN raw.trading_days AS d
  ON d.region = b.region AND d.trade_date > b.last_date AND d.trade_date < b.trade_date
LEFT JOIN raw.absences_1d AS a
  ON a.symbol = b.symbol AND d.trade_date >= a.first_date AND d.trade_date <= a.last_date
    AND a.first_date > b.last_date AND a.last_date < b.trade_date
WHERE is_ex_event(b.last_close, b.prev_close)
GROUP BY b.symbol, b.trade_date, b.last_date, b.last_close, b.prev_close, b.region;

COMMENT ON VIEW restated_closes IS 'Days whose stated previous close differs from the close of the bar before. One row for each symbol and day.';
