-- Bars of any period, unadjusted, as the service returns them. See sql/views/bars/bars.sql, whose parameter is a column
-- here:
--   SELECT * FROM bars WHERE period = '5m'
-- Grain: one row for each period, symbol and bar. Inputs: adjusted.
CREATE OR REPLACE VIEW bars AS
SELECT period, symbol, trade_date, "timestamp", open, high, low, close, volume, amount, prev_close, open_interest,
  settlement_price, lot, shares, landed_bars, is_final, region,
  CASE WHEN shares > 0 AND amount > 0 THEN amount / shares END AS vwap
FROM adjusted
WHERE adjustment = 'none';

COMMENT ON VIEW bars IS 'Bars of any period, unadjusted, as the service returns them. One row for each period, symbol and bar: ask for one period (1m, 5m, 10m, 15m, 30m, 60m, 1d, 1w, 1M, 1Q, 1Y).';
