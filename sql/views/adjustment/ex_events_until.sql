-- Days on which the price level of a symbol changes, with what shows it, as it was known at the end of a date.
-- Grain: one row for each symbol and ex-date. Inputs: restated_closes, ex_terms, ex_events_of.
CREATE OR REPLACE MACRO ex_events_until(as_of) AS TABLE (
  WITH closes AS NOT MATERIALIZED (
    FROM restated_closes WHERE CAST(as_of AS DATE) IS NULL OR trade_date <= CAST(as_of AS DATE)
  ),
  terms AS NOT MATERIALIZED (FROM ex_terms(as_of := as_of) WHERE priority = 1)
  FROM ex_events_of('closes', 'terms')
);

COMMENT ON MACRO TABLE ex_events_until IS 'Days on which the price level changes up to a date, as they were known at its end: a later correction of an action changes nothing. One row for each symbol and ex-date. The columns of ex_events.
as_of: Only ex-events up to this date; null: all. [date]';
