-- Bars of a landed period with adjusted prices: adjusted('1m', ...) and adjusted('1d', ...).
-- Grain: one row a symbol and bar. Inputs: priced_bars.
CREATE OR REPLACE MACRO adjusted_landed(bars, adjustment, as_of) AS TABLE
SELECT symbol, trade_date, "timestamp", open, high, low, close,
  CASE WHEN lot = unit THEN volume ELSE units_of(shares, unit) END AS volume,
  amount, prev_close, open_interest, settlement_price, unit AS lot, units_of(shares, 1) AS shares, 1::BIGINT AS landed_bars,
  is_final, region
FROM priced_bars(bars, false, adjustment, as_of);

COMMENT ON MACRO TABLE adjusted_landed IS 'Bars of a landed period with adjusted prices: the part of adjusted for 1m and 1d. One row a symbol and bar. The columns of adjusted.
bars: raw.bars_1m or raw.bars_1d, as a text.
adjustment: forward, backward, forward_additive, backward_additive or none.
as_of: Nothing after this date is seen, neither bars nor ex-events; null: everything. [date]';
