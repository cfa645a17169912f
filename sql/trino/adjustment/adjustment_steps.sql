-- Stretches of days whose prices are all adjusted by the same value. See sql/views/adjustment/adjustment_steps.sql,
-- whose parameter is a column here: a query selects one adjustment, as in WHERE adjustment = 'forward'. Sums and
-- products begin at the end without adjustment and take one event after the other, so that every engine computes the
-- same doubles.
-- Grain: one row for each adjustment, symbol and stretch; a symbol without events has none. Inputs: ex_events.
CREATE OR REPLACE VIEW adjustment_steps AS
SELECT
  adjustment,
  symbol,
  element_at(DATE '0001-01-01' || days, nth) AS start_date,
  element_at(days || DATE '9999-12-31', nth) AS end_date,
  CASE adjustment
    WHEN 'forward' THEN reduce(reverse(slice(factors, nth, cardinality(factors))), 1e0, (product, factor) -> product * factor, product -> product)
    WHEN 'backward' THEN reduce(slice(factors, 1, nth - 1), 1e0, (product, factor) -> product * factor, product -> product)
    WHEN 'forward_additive' THEN reduce(reverse(slice(amounts, nth, cardinality(amounts))), 0e0, (total, amount) -> total - amount, total -> total)
    WHEN 'backward_additive' THEN reduce(slice(amounts, 1, nth - 1), 0e0, (total, amount) -> total + amount, total -> total)
  END AS "value"
FROM (
  SELECT
    symbol,
    array_agg(ex_date ORDER BY ex_date) AS days,
    array_agg(factor ORDER BY ex_date) AS factors,
    array_agg(amount ORDER BY ex_date) AS amounts
  FROM ex_events
  GROUP BY symbol
)
CROSS JOIN UNNEST(sequence(1, cardinality(days) + 1)) AS stretches (nth)
CROSS JOIN (VALUES 'forward', 'backward', 'forward_additive', 'backward_additive') AS adjustments (adjustment);

COMMENT ON VIEW adjustment_steps IS 'Stretches of days whose prices are all adjusted by the same value. One row for each adjustment, symbol and stretch; a symbol without ex-events has none.';
