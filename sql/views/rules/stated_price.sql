-- The price of a bar for aggregates. Some feeds set open, high and low of a bar without trades to 0; they are replaced
-- by its close. The price must be unadjusted, because an additive adjustment can make a price 0.
-- Grain: one value for each price. Inputs: price, close.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO stated_price(price, close) AS
  CASE
    WHEN price = 0 THEN close
    ELSE price
  END;

COMMENT ON MACRO stated_price IS 'The price, or the close where it is 0. [currency]
price: Open, high or low, unadjusted. [currency]
close: Close of the same bar, unadjusted. [currency]';
