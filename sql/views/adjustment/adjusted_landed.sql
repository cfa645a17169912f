-- Bars of a landed period with adjusted prices: adjusted('1m', ...) and adjusted('1d', ...).
-- Grain: one row for each symbol and bar. Inputs: the named relation.
CREATE OR REPLACE MACRO adjusted_landed(priced) AS TABLE
SELECT symbol, trade_date, "timestamp", open, high, low, close,
  CASE WHEN lot = unit THEN volume ELSE units_of(shares, unit) END AS volume,
  amount, prev_close, open_interest, settlement_price, unit AS lot, CASE WHEN shares IS NOT NULL THEN CAST(least(shares, 9223372036854775807) AS BIGINT) END AS shares, 1::BIGINT AS landed_bars,
  is_final, region
FROM query_table(priced);

COMMENT ON MACRO TABLE adjusted_landed IS 'Bars of a landed period with adjusted prices: the part of adjusted for 1m and 1d. One row for each symbol and bar. The columns of adjusted.
priced: Name of a relation with the rows of priced_bars or unadjusted_bars.';
