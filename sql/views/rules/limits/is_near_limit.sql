-- Whether a day may have been at a limit of the boards' rules, of which the narrowest is taken, less what rounding
-- changes. It is much quicker than the limit itself, for which the instrument must be known.
-- Grain: one value for each bar. Inputs: low, high, close, prev_close.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO is_near_limit(low, high, close, prev_close) AS
  NOT coalesce(prev_close > 0 AND low < prev_close * 1.05 - 0.01 AND close < prev_close * 1.05 - 0.01 AND high > prev_close * 0.95 + 0.01 AND close > prev_close * 0.95 + 0.01, false);

COMMENT ON MACRO is_near_limit IS 'Whether a day may have been at a limit of the boards'' rules; true where this is unknown. Limits that the metadata of the day states may be narrower.
low: Lowest price. [currency]
high: Highest price. [currency]
close: Last price. [currency]
prev_close: Previous close, as the exchange states it. [currency]';
