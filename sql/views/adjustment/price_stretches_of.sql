-- Stretches of days between the ex-events of a symbol, with the value of each adjustment. forward: the product of the
-- factors of the events after a day; backward: of the events up to and including it; additive adjustments sum the
-- amounts instead; reinvested: as backward, with cash that buys shares at the close of the ex-date. Sums and products begin at the end without adjustment and take one event after the other, as in the
-- service.
-- Grain: one row for each symbol and stretch; a symbol without events has none. Inputs: the named relation.
CREATE OR REPLACE MACRO price_stretches_of(events) AS TABLE
SELECT
  symbol,
  CASE WHEN nth = 1 THEN DATE '0001-01-01' ELSE days[nth - 1] END AS start_date,
  CASE WHEN nth > len(days) THEN DATE '9999-12-31' ELSE days[nth] END AS end_date,
  list_reduce(list_reverse(factors[nth:]), lambda product, factor: product * factor, 1.0::DOUBLE) AS forward,
  list_reduce(factors[:nth - 1], lambda product, factor: product * factor, 1.0::DOUBLE) AS backward,
  list_reduce(list_reverse(amounts[nth:]), lambda sum, amount: sum - amount, 0.0::DOUBLE) AS forward_additive,
  list_reduce(amounts[:nth - 1], lambda sum, amount: sum + amount, 0.0::DOUBLE) AS backward_additive,
  list_reduce(shares[:nth - 1], lambda product, share: product * share, 1.0::DOUBLE) AS reinvested
FROM (
  SELECT symbol, days, factors, amounts, shares, unnest(generate_series(1, len(days) + 1)) AS nth
  FROM (
    SELECT
      symbol,
      list(ex_date ORDER BY ex_date) AS days,
      list(factor ORDER BY ex_date) AS factors,
      list(amount ORDER BY ex_date) AS amounts,
      list(reinvested ORDER BY ex_date) AS shares
    FROM query_table(events)
    GROUP BY symbol
  )
);

COMMENT ON MACRO TABLE price_stretches_of IS 'Stretches of days between ex-events, with the value of each adjustment: what price_stretches is made of. One row for each symbol and stretch. The columns of price_stretches.
events: Name of a relation with the rows of ex_events.';
