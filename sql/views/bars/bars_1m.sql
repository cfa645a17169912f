-- One-minute bars, unadjusted, with columns that are computed from each bar alone.
-- Grain: one row for each symbol and minute. Inputs: raw.bars_1m.
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
  month
FROM raw.bars_1m;

COMMENT ON VIEW bars_1m IS 'One-minute bars as delivered, unadjusted. One row for each symbol and minute.';
COMMENT ON COLUMN bars_1m.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN bars_1m."timestamp" IS 'End of the minute. [UTC]';
COMMENT ON COLUMN bars_1m.volume IS 'Traded volume in the delivered unit. [lot shares]';
COMMENT ON COLUMN bars_1m.amount IS 'Traded amount; 0 with a volume above 0: the source reports none. [currency]';
COMMENT ON COLUMN bars_1m.shares IS 'volume * lot. [shares]';
COMMENT ON COLUMN bars_1m.vwap IS 'amount / shares; null where nothing traded or no amount is reported. [currency]';
COMMENT ON COLUMN bars_1m.is_final IS 'False while the session was still running when the bar was asked for.';
