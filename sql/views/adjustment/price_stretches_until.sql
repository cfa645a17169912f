-- Stretches of days between the ex-events of a symbol, with the value of each adjustment. forward: the product of the
-- factors of the events after a day; backward: of the events up to and including it; additive adjustments sum the
-- amounts instead. Sums and products begin at the end without adjustment and take one event after the other, as in the
-- service.
-- Grain: one row for each symbol and stretch; a symbol without events has none. Inputs: ex_events.
CREATE OR REPLACE MACRO price_stretches_until(as_of) AS TABLE
SELECT
  symbol,
  CASE WHEN nth = 1 THEN DATE '0001-01-01' ELSE days[nth - 1] END AS start_date,
  CASE WHEN nth > len(days) THEN DATE '9999-12-31' ELSE days[nth] END AS end_date,
  list_reduce(list_reverse(factors[nth:]), lambda product, factor: product * factor, 1.0::DOUBLE) AS forward,
  list_reduce(factors[:nth - 1], lambda product, factor: product * factor, 1.0::DOUBLE) AS backward,
  list_reduce(list_reverse(amounts[nth:]), lambda sum, amount: sum - amount, 0.0::DOUBLE) AS forward_additive,
  list_reduce(amounts[:nth - 1], lambda sum, amount: sum + amount, 0.0::DOUBLE) AS backward_additive
FROM (
  SELECT symbol, days, factors, amounts, unnest(generate_series(1, len(days) + 1)) AS nth
  FROM (
    SELECT
      symbol,
      list(ex_date ORDER BY ex_date) AS days,
      list(factor ORDER BY ex_date) AS factors,
      list(amount ORDER BY ex_date) AS amounts
    FROM ex_events
    WHERE CAST(as_of AS DATE) IS NULL OR ex_date <= CAST(as_of AS DATE)
    GROUP BY symbol
  )
);

COMMENT ON MACRO TABLE price_stretches_until IS 'Stretches of days between the ex-events of a symbol up to a date, with the value of each adjustment. One row for each symbol and stretch; a symbol without ex-events has none. The columns of price_stretches.
as_of: Only ex-events up to this date; null: all. [date]';
