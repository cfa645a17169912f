-- A price, adjusted by the value of its day's stretch. A price of 0, which means that there is no price, is not
-- changed.
-- Grain: one value for each price. Inputs: a value of adjustment_steps, null where there is none.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO adjusted_price(price, adjustment, step) AS
  CASE
    WHEN step IS NULL THEN price
    WHEN adjustment = 'forward' THEN price / step
    WHEN adjustment = 'backward' THEN price * step
    ELSE CASE
      WHEN price = 0 THEN price
      ELSE price + step
    END
  END;

COMMENT ON MACRO adjusted_price IS 'A price, adjusted by the value of its day''s stretch. [currency]
price: Unadjusted; 0 means none, and stays 0. [currency]
adjustment: forward, backward, forward_additive or backward_additive.
step: Value of adjustment_steps for the day; null: the price stays.';
