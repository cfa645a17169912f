-- Whether a bar could be traded: it has volume, and not all of its prices are at one limit.
-- Grain: one value for each bar. Inputs: volume, low, high, limit_up_price, limit_down_price.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO is_tradable(volume, low, high, limit_up_price, limit_down_price) AS
  volume > 0 AND NOT coalesce(low >= limit_up_price - 0.0005, false) AND NOT coalesce(high <= limit_down_price + 0.0005, false);

COMMENT ON MACRO is_tradable IS 'Whether a bar has volume and does not lie at one limit alone.
volume: Traded volume, in any unit.
low: Lowest price. [currency]
high: Highest price. [currency]
limit_up_price: Highest price permitted; null: none is known. [currency]
limit_down_price: Lowest price permitted; null: none is known. [currency]';
