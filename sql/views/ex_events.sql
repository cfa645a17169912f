-- Days on which an exchange restated the previous close: a dividend, a split, a rights issue. A bar's prev_close that
-- differs from the close of the bar before, by more than binary fractions do, shows one. A day without trades counts
-- as a bar with its close; a close of 0 says nothing.
-- Grain: one row a symbol and ex-date. Inputs: raw.bars_1d, is_ex_event.
CREATE OR REPLACE VIEW ex_events AS
SELECT
  symbol,
  trade_date AS ex_date,
  last_close,
  prev_close,
  last_close / prev_close AS factor,
  last_close - prev_close AS amount,
  region
FROM (
  SELECT symbol, trade_date, prev_close, region,
    lag(close) OVER (PARTITION BY symbol ORDER BY "timestamp") AS last_close
  FROM raw.bars_1d
)
WHERE is_ex_event(last_close, prev_close);

COMMENT ON VIEW ex_events IS 'Days on which the exchange restated the previous close (dividend, split, rights issue), derived from prev_close. One row a symbol and ex-date.';
COMMENT ON COLUMN ex_events.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN ex_events.ex_date IS 'First trading date at the new price level, in the exchange''s own zone.';
COMMENT ON COLUMN ex_events.last_close IS 'Close of the bar before. [currency]';
COMMENT ON COLUMN ex_events.prev_close IS 'Previous close as the exchange states it on the ex-date. [currency]';
COMMENT ON COLUMN ex_events.factor IS 'last_close / prev_close. [ratio]';
COMMENT ON COLUMN ex_events.amount IS 'last_close - prev_close. [currency]';
COMMENT ON COLUMN ex_events.region IS 'Region: CN, HK or US.';
