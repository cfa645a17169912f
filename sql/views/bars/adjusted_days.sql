-- Bars of calendar weeks, months, quarters and years with adjusted prices, made of days.
-- Grain: one row a symbol and bar. Inputs: priced_bars.
CREATE OR REPLACE MACRO adjusted_days(period, adjustment, as_of) AS TABLE
SELECT symbol, max(trade_date) AS trade_date, max("timestamp") AS "timestamp",
  arg_min(open, "timestamp") AS open, max(high) AS high, min(low) AS low, arg_max(close, "timestamp") AS close,
  units_of(sum(shares), unit) AS volume,
  sum(amount) AS amount, arg_min_null(prev_close, "timestamp") AS prev_close,
  arg_max_null(open_interest, "timestamp") AS open_interest, arg_max_null(settlement_price, "timestamp") AS settlement_price,
  unit AS lot, units_of(sum(shares), 1) AS shares, count(*) AS landed_bars, bool_and(is_final) AS is_final, region
FROM priced_bars('raw.bars_1d', true, adjustment, as_of)
GROUP BY symbol, region, unit,
  date_trunc(CASE period WHEN '1w' THEN 'week' WHEN '1M' THEN 'month' WHEN '1Q' THEN 'quarter' ELSE 'year' END, trade_date);

COMMENT ON MACRO TABLE adjusted_days IS 'Bars of several days with adjusted prices: the part of adjusted for 1w to 1Y. One row a symbol and bar. The columns of adjusted.
period: 1w, 1M, 1Q or 1Y.
adjustment: forward, backward, forward_additive, backward_additive or none.
as_of: Nothing after this date is seen, neither bars nor ex-events; null: everything. [date]';
