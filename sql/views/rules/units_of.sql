-- Shares in units of volume, rounded half up. A number that is too large for an int64 becomes the largest int64.
-- Grain: one value for each volume. Inputs: shares, unit.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO units_of(shares, unit) AS
  CAST(least((shares * 2 + unit) // (2 * unit), 9223372036854775807) AS BIGINT);

COMMENT ON MACRO units_of IS 'Shares in units, rounded half up. [lot shares]
shares: Shares, as HUGEINT. [shares]
unit: Shares of one unit. [shares]';
