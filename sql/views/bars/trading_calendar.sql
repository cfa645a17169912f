-- The days on which a region traded, each with the session before and after it.
-- Grain: one row for each region and trading date. Inputs: raw.trading_days.
CREATE OR REPLACE VIEW trading_calendar AS
SELECT
  region,
  trade_date,
  lag(trade_date) OVER sessions AS previous_session,
  lead(trade_date) OVER sessions AS next_session,
  row_number() OVER sessions AS session_number,
  source
FROM raw.trading_days
WINDOW sessions AS (PARTITION BY region ORDER BY trade_date);

COMMENT ON VIEW trading_calendar IS 'The days on which a region traded, each with the session before and after it. One row for each region and trading date. The newest row changes when the next session is known. A past day may be added later, when its bars land or the index turns out to lack it: the rows before and after it, and later session numbers, then change.';
COMMENT ON COLUMN trading_calendar.region IS 'Region: CN, HK or US.';
COMMENT ON COLUMN trading_calendar.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN trading_calendar.previous_session IS 'Trading date before; null for the first that is known.';
COMMENT ON COLUMN trading_calendar.next_session IS 'Trading date after; null for the newest that is known.';
COMMENT ON COLUMN trading_calendar.session_number IS 'Count from the first known session, from 1: a difference of two is a number of sessions. [sessions]';
COMMENT ON COLUMN trading_calendar.source IS 'index: the region''s index has a bar; majority: most of the symbols traded.';
