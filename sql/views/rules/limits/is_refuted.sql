-- Whether a day traded outside of a limit, which was therefore not in force: the day has another rule, such as after a
-- reform of the shares or a resumption, or the instrument is of another kind.
-- Grain: one value for each bar. Inputs: volume, low, high, limit_up_price, limit_down_price.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO is_refuted(volume, low, high, limit_up_price, limit_down_price) AS
  coalesce(volume > 0 AND (high > limit_up_price + 0.0005 OR (low > 0 AND low < limit_down_price - 0.0005)), false);

COMMENT ON MACRO is_refuted IS 'Whether a day''s own prices show that a limit was not in force; false where there is no limit, or no trade.
volume: Traded volume, in any unit.
low: Lowest price. [currency]
high: Highest price. [currency]
limit_up_price: Highest price permitted by the rule; null: none. [currency]
limit_down_price: Lowest price permitted by the rule; null: none. [currency]';
