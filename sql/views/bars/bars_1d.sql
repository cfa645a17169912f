-- Daily bars, unadjusted, with columns that are computed from each bar alone.
-- Grain: one row for each symbol and trading date. Inputs: raw.bars_1d.
CREATE OR REPLACE VIEW bars_1d AS
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
  year
FROM raw.bars_1d;

COMMENT ON VIEW bars_1d IS 'Daily bars as delivered, unadjusted. One row for each symbol and trading date.';
COMMENT ON COLUMN bars_1d.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN bars_1d."timestamp" IS 'Midnight of the trading date in the exchange''s zone. [UTC]';
COMMENT ON COLUMN bars_1d.volume IS 'Traded volume in the delivered unit. [lot shares]';
COMMENT ON COLUMN bars_1d.amount IS 'Traded amount; 0 with a volume above 0: the source reports none. [currency]';
COMMENT ON COLUMN bars_1d.prev_close IS 'Previous close as the exchange states it: differs from the last close on an ex-date. [currency]';
COMMENT ON COLUMN bars_1d.shares IS 'volume * lot. [shares]';
COMMENT ON COLUMN bars_1d.vwap IS 'amount / shares; null where nothing traded or no amount is reported. [currency]';
COMMENT ON COLUMN bars_1d.is_final IS 'False while the day''s session was still running when the bar was asked for.';
