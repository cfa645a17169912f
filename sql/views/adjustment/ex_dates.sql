-- Dates of which a source says that the price level changes, in any version. on_date: the date itself, and for a Saturday or a
-- Sunday also the Monday after it, on which most markets have the next bar.
-- Grain: one row for each symbol, ex-date and date to look for. Inputs: raw.corporate_actions, raw.ex_factors.
CREATE OR REPLACE VIEW ex_dates AS
SELECT DISTINCT symbol, ex_date, unnest(CASE WHEN isodow(ex_date) > 5 THEN [ex_date, ex_date + CAST(8 - isodow(ex_date) AS INTEGER)] ELSE [ex_date] END) AS on_date
FROM (
  SELECT symbol, ex_date FROM raw.corporate_actions
  UNION ALL
  SELECT symbol, ex_date FROM raw.ex_factors
);

COMMENT ON VIEW ex_dates IS 'Dates of which a source says that the price level changes, in any version. One row for each symbol, ex-date and date to look for.';
COMMENT ON COLUMN ex_dates.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN ex_dates.ex_date IS 'First trading date at the new price level, in the exchange''s own zone.';
COMMENT ON COLUMN ex_dates.on_date IS 'The same date; of a Saturday or a Sunday, in a second row, the Monday after it.';
