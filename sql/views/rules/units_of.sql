-- Shares in units of volume, rounded half up. A number that is too large for an int64 becomes the largest int64.
-- Grain: one value for each volume. Inputs: shares, unit.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO units_of(shares, unit) AS
  CASE
    WHEN shares BETWEEN -2305843009213693952 AND 2305843009213693952 THEN (CAST(shares AS BIGINT) * 2 + unit) // (2 * unit)
    ELSE CASE
      WHEN shares IS NOT NULL THEN CAST(least((shares * 2 + unit) // (2 * unit), 9223372036854775807) AS BIGINT)
    END
  END;

COMMENT ON MACRO units_of IS 'Shares in units, rounded half up. [lot shares]
shares: Shares, as HUGEINT. [shares]
unit: Shares of one unit. [shares]';
