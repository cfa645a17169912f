-- Stretches of days between the ex-events of a symbol up to a date, with the value of each adjustment.
-- Grain: one row for each symbol and stretch; a symbol without events has none. Inputs: ex_events_until, price_stretches_of.
CREATE OR REPLACE MACRO price_stretches_until(as_of) AS TABLE (
  WITH events AS (FROM ex_events_until(as_of))
  FROM price_stretches_of('events')
);

COMMENT ON MACRO TABLE price_stretches_until IS 'Stretches of days between the ex-events of a symbol up to a date, with the value of each adjustment. One row for each symbol and stretch; a symbol without ex-events has none. The columns of price_stretches.
as_of: Only ex-events up to this date; null: all. [date]';
