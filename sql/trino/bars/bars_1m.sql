-- One-minute bars, unadjusted, with columns that are computed from each bar alone.
-- Grain: one row for each symbol and minute. Inputs: raw.bars_1m. Same rows: sql/views/bars/bars_1m.sql.
CREATE OR REPLACE VIEW bars_1m AS
SELECT
  symbol,
  trade_date,
  "timestamp",
  open,
  high,
  low,
  close,
  volume,
  amount,
  prev_close,
  open_interest,
  settlement_price,
  lot,
  shares_of(volume, lot) AS shares,
  CASE WHEN volume > 0 AND amount > 0 THEN amount / shares_of(volume, lot) END AS vwap,
  is_final,
  region,
  "month"
FROM raw.bars_1m;

COMMENT ON VIEW bars_1m IS 'One-minute bars, unadjusted, with shares and volume-weighted price. One row for each symbol and minute.';
