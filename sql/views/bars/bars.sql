-- Bars of any period, unadjusted, as the service returns them; minutes are anchored to the parts of the session.
-- Grain: one row for each symbol and bar. Inputs: adjusted.
CREATE OR REPLACE MACRO bars(period) AS TABLE (
  SELECT *, CASE WHEN shares > 0 AND amount > 0 THEN amount / shares END AS vwap
  FROM adjusted(period, 'none')
), (period, as_of) AS TABLE (
  SELECT *, CASE WHEN shares > 0 AND amount > 0 THEN amount / shares END AS vwap
  FROM adjusted(period, 'none', as_of)
);

COMMENT ON MACRO TABLE bars IS 'Bars of any period, unadjusted: bars(''5m'') to bars(''1Y''). One row for each symbol and bar. The columns of adjusted, and vwap.
period: 1m, 5m, 10m, 15m, 30m, 60m, 1d, 1w, 1M, 1Q or 1Y.
as_of: Nothing after this date is seen; null: everything. [date]
-> vwap: amount / shares; null where nothing traded or no amount is reported. [currency]';
