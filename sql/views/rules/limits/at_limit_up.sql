-- Whether a price is at the upper limit of its day. Prices are binary fractions, so a difference of less than half a
-- tick is ignored.
-- Grain: one value for each price. Inputs: price, limit_price.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO at_limit_up(price, limit_price) AS
  coalesce(price >= limit_price - 0.0005, false);

COMMENT ON MACRO at_limit_up IS 'Whether a price is at the upper limit of its day; false where there is no price or no limit.
price: Any price of the day. [currency]
limit_price: Highest price permitted; null: none is known. [currency]';
