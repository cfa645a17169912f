-- The days on which a region traded, each with the session before and after it.
-- Grain: one row for each region and trading date. Inputs: raw.trading_days. Same rows:
-- sql/views/bars/trading_calendar.sql.
CREATE OR REPLACE VIEW trading_calendar AS
SELECT
  region,
  trade_date,
  lag(trade_date) OVER sessions AS previous_session,
  lead(trade_date) OVER sessions AS next_session,
  row_number() OVER sessions AS session_number,
  "source"
FROM raw.trading_days
WINDOW sessions AS (PARTITION BY region ORDER BY trade_date);

COMMENT ON VIEW trading_calendar IS 'The days on which a region traded, each with the session before and after it. One row for each region and trading date. The newest row changes when the next session is known. A past day may be added later, when its bars land or the index turns out to lack it: the rows before and after it, and later session numbers, then change.';
