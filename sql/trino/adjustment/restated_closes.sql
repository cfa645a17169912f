-- Days on which the price level of a symbol changes, or seems to. See sql/views/adjustment/restated_closes.sql.
-- Grain: one row for each symbol and day. Inputs: raw.bars_1d, raw.trading_days, raw.absences_1d, raw.corporate_actions,
-- raw.ex_factors, unknown_spans.
CREATE OR REPLACE VIEW restated_closes AS
SELECT
  b.symbol,
  b.trade_date,
  b.last_date,
  b.last_close,
  b."close",
  b.prev_close,
  bool_or(u.region IS NOT NULL OR (d.trade_date IS NOT NULL AND a.symbol IS NULL)) AS has_hole,
  bool_or(d.trade_date IS NOT NULL) AS has_session,
  b.region
FROM (
  SELECT symbol, region, trade_date, "close", prev_close,
    lag(close) OVER (PARTITION BY symbol ORDER BY "timestamp") AS last_close,
    lag(trade_date) OVER (PARTITION BY symbol ORDER BY "timestamp") AS last_date
  FROM raw.bars_1d
) AS b
LEFT JOIN (
  SELECT symbol, ex_date FROM raw.corporate_actions
  UNION
  SELECT symbol, ex_date FROM raw.ex_factors
) AS t ON t.symbol = b.symbol AND t.ex_date > b.last_date AND t.ex_date <= b.trade_date
LEFT JOIN unknown_spans AS u ON u.region = b.region AND is_unknown_stretch(
  greatest(b.last_date, coalesce(u.after_date, b.last_date)), least(b.trade_date, coalesce(u.before_date, b.trade_date)))
LEFT JOIN raw.trading_days AS d
  ON d.region = b.region AND d.trade_date > b.last_date AND d.trade_date < b.trade_date
LEFT JOIN raw.absences_1d AS a
  ON a.symbol = b.symbol AND d.trade_date >= a.first_date AND d.trade_date <= a.last_date
    AND a.first_date > b.last_date AND a.last_date < b.trade_date
WHERE is_ex_event(b.last_close, b.prev_close) OR (b.last_close > 0 AND t.symbol IS NOT NULL)
GROUP BY b.symbol, b.trade_date, b.last_date, b.last_close, b."close", b.prev_close, b.region;

COMMENT ON VIEW restated_closes IS 'Days on which the price level changes, or seems to: a source has an ex-date, or the stated previous close differs from the close of the bar before. One row for each symbol and day.';
