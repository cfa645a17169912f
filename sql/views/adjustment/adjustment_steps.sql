-- Stretches of days whose prices are all adjusted by the same value. forward: the product of the factors of the events
-- after a day; backward: of the events up to and including it; additive adjustments sum the amounts instead. Sums and
-- products begin at the end without adjustment and take one event after the other, as in the service.
-- Grain: one row for each symbol and stretch; a symbol without events has none. Inputs: ex_events.
CREATE OR REPLACE MACRO adjustment_steps(adjustment, as_of := NULL) AS TABLE
SELECT
  symbol,
  CASE WHEN nth = 1 THEN DATE '0001-01-01' ELSE days[nth - 1] END AS start_date,
  CASE WHEN nth > len(days) THEN DATE '9999-12-31' ELSE days[nth] END AS end_date,
  CASE adjustment
    WHEN 'forward' THEN list_reduce(list_reverse(factors[nth:]), lambda product, factor: product * factor, 1.0::DOUBLE)
    WHEN 'backward' THEN list_reduce(factors[:nth - 1], lambda product, factor: product * factor, 1.0::DOUBLE)
    WHEN 'forward_additive' THEN list_reduce(list_reverse(amounts[nth:]), lambda sum, amount: sum - amount, 0.0::DOUBLE)
    WHEN 'backward_additive' THEN list_reduce(amounts[:nth - 1], lambda sum, amount: sum + amount, 0.0::DOUBLE)
  END AS value
FROM (
  SELECT symbol, days, factors, amounts, unnest(generate_series(1, len(days) + 1)) AS nth
  FROM (
    SELECT
      symbol,
      list(ex_date ORDER BY ex_date) AS days,
      list(factor ORDER BY ex_date) AS factors,
      list(amount ORDER BY ex_date) AS amounts
    FROM ex_events
    WHERE adjustment <> 'none' AND (CAST(as_of AS DATE) IS NULL OR ex_date <= CAST(as_of AS DATE))
    GROUP BY symbol
  )
);

COMMENT ON MACRO TABLE adjustment_steps IS 'Stretches of days whose prices are all adjusted by the same value. One row for each symbol and stretch; a symbol without ex-events has none.
adjustment: forward, backward, forward_additive, backward_additive or none.
as_of: Only ex-events up to this date; null: all. [date]
-> symbol: Instrument symbol.
-> start_date: First day of the stretch.
-> end_date: First day behind it.
-> value: What a price is divided by (forward), multiplied by (backward), or what is added to it (additive). [ratio, or currency]';
