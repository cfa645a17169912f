-- Daily bars with the close of the symbol's bar before.
-- Grain: one row for each symbol and day. Inputs: raw.bars_1d.
CREATE OR REPLACE VIEW last_closes AS
SELECT symbol, trade_date, close, prev_close, lag(trade_date) OVER bars AS last_date, lag(close) OVER bars AS last_close,
  false AS is_told, region
FROM raw.bars_1d
WINDOW bars AS (PARTITION BY symbol ORDER BY "timestamp");

COMMENT ON VIEW last_closes IS 'Daily bars with the close of the bar before: a part of restated_closes. One row for each symbol and day.';
COMMENT ON COLUMN last_closes.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN last_closes.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN last_closes.close IS 'Close of the day. [currency]';
COMMENT ON COLUMN last_closes.prev_close IS 'Previous close as the exchange states it; null where it states none. [currency]';
COMMENT ON COLUMN last_closes.last_date IS 'Trading date of the bar before; null for the first bar.';
COMMENT ON COLUMN last_closes.last_close IS 'Close of the bar before. [currency]';
COMMENT ON COLUMN last_closes.is_told IS 'False: told_closes has what sources say.';
COMMENT ON COLUMN last_closes.region IS 'Region: CN, HK or US.';
