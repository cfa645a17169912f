-- Stretches of days whose prices are all adjusted by the same value: price_stretches_until for one adjustment.
-- Grain: one row for each symbol and stretch; a symbol without events has none. Inputs: price_stretches_until.
CREATE OR REPLACE MACRO adjustment_steps(adjustment, as_of := NULL) AS TABLE
SELECT
  symbol,
  start_date,
  end_date,
  CASE adjustment
    WHEN 'forward' THEN forward
    WHEN 'backward' THEN backward
    WHEN 'forward_additive' THEN forward_additive
    WHEN 'backward_additive' THEN backward_additive
  END AS value
FROM price_stretches_until(as_of)
WHERE adjustment <> 'none';

COMMENT ON MACRO TABLE adjustment_steps IS 'Stretches of days whose prices are all adjusted by the same value. One row for each symbol and stretch; a symbol without ex-events has none.
adjustment: forward, backward, forward_additive, backward_additive or none.
as_of: Only ex-events up to this date; null: all. [date]
-> symbol: Instrument symbol.
-> start_date: First day of the stretch.
-> end_date: First day after it.
-> value: What a price is divided by (forward), multiplied by (backward), or what is added to it (additive). [ratio, or currency]';
