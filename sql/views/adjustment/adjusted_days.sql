-- Bars of calendar weeks, months, quarters and years with adjusted prices, aggregated from days.
-- Grain: one row for each symbol and bar. Inputs: the named relation.
CREATE OR REPLACE MACRO adjusted_days(priced, period) AS TABLE
SELECT symbol, max(trade_date) AS trade_date, max("timestamp") AS "timestamp",
  arg_min(open, "timestamp") AS open, max(high) AS high, min(low) AS low, arg_max(close, "timestamp") AS close,
  units_of(sum(shares), unit) AS volume,
  sum(amount) AS amount, arg_min_null(prev_close, "timestamp") AS prev_close,
  arg_max_null(open_interest, "timestamp") AS open_interest, arg_max_null(settlement_price, "timestamp") AS settlement_price,
  unit AS lot, CASE WHEN sum(shares) IS NOT NULL THEN CAST(least(sum(shares), 9223372036854775807) AS BIGINT) END AS shares, count(*) AS landed_bars, bool_and(is_final) AS is_final, region
FROM query_table(priced)
GROUP BY symbol, region, unit,
  date_trunc(CASE period WHEN '1w' THEN 'week' WHEN '1M' THEN 'month' WHEN '1Q' THEN 'quarter' ELSE 'year' END, trade_date);

COMMENT ON MACRO TABLE adjusted_days IS 'Bars of several days with adjusted prices: the part of adjusted for 1w to 1Y. One row for each symbol and bar. The columns of adjusted.
priced: Name of a relation with the rows of priced_bars or unadjusted_bars.
period: 1w, 1M, 1Q or 1Y.';
