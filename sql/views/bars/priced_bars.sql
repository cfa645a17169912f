-- Landed bars with adjusted prices.
-- Grain: one row for each symbol and landed bar. Inputs: unadjusted_bars, the named relation.
CREATE OR REPLACE MACRO priced_bars(bars, is_part, adjustment, steps) AS TABLE
SELECT
  landed.symbol,
  "timestamp",
  trade_date,
  adjusted_price(open, adjustment, value) AS open,
  adjusted_price(high, adjustment, value) AS high,
  adjusted_price(low, adjustment, value) AS low,
  adjusted_price(close, adjustment, value) AS close,
  volume,
  shares,
  amount,
  open_interest,
  adjusted_price(prev_close, adjustment, value) AS prev_close,
  adjusted_price(settlement_price, adjustment, value) AS settlement_price,
  lot,
  unit,
  is_final,
  region
FROM unadjusted_bars(bars, is_part) AS landed
LEFT JOIN query_table(steps) AS step
  ON step.symbol = landed.symbol AND trade_date >= start_date AND trade_date < end_date;

COMMENT ON MACRO TABLE priced_bars IS 'Landed bars with adjusted prices: what adjusted is made of. One row for each symbol and landed bar.
bars: raw.bars_1m or raw.bars_1d, as a text.
is_part: Whether the bars become parts of longer ones: the close then replaces prices that are 0.
adjustment: forward, backward, forward_additive, backward_additive or none.
steps: Name of a relation with the rows of adjustment_steps.';
