-- Bars of a period with adjusted prices, from the same bars without adjustment. The bars of a trading date share a step,
-- and to adjust prices above 0 does not change their order, so that the adjusted high is the highest adjusted price.
-- Grain: one row for each symbol and bar. Inputs: the named relations.
CREATE OR REPLACE MACRO adjusted_bars(bars, adjustment, steps) AS TABLE
SELECT bar.symbol, trade_date, "timestamp",
  adjusted_price(open, adjustment, value) AS open,
  adjusted_price(high, adjustment, value) AS high,
  adjusted_price(low, adjustment, value) AS low,
  adjusted_price(close, adjustment, value) AS close,
  volume, amount,
  adjusted_price(prev_close, adjustment, value) AS prev_close,
  open_interest,
  adjusted_price(settlement_price, adjustment, value) AS settlement_price,
  lot, shares, landed_bars, is_final, region
FROM query_table(bars) AS bar
LEFT JOIN query_table(steps) AS step
  ON step.symbol = bar.symbol AND trade_date >= start_date AND trade_date < end_date;

COMMENT ON MACRO TABLE adjusted_bars IS 'Bars of up to a day with adjusted prices: the part of adjusted for bars that are in a copy for SQL. One row for each symbol and bar. The columns of adjusted.
bars: Name of a relation with the rows of adjusted without adjustment. All prices are above 0.
adjustment: forward, backward, forward_additive or backward_additive.
steps: Name of a relation with the rows of adjustment_steps.';
