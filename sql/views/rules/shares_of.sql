-- The number of shares of a volume. A number that is too large for an int64 becomes the largest int64, so that such a
-- bar does not make a query fail.
-- Grain: one value for each volume. Inputs: volume, lot.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO shares_of(volume, lot) AS
  CASE
    WHEN volume < 4294967296 THEN volume * lot
    ELSE CASE
      WHEN CAST(volume AS HUGEINT) * lot IS NOT NULL THEN CAST(least(CAST(volume AS HUGEINT) * lot, 9223372036854775807) AS BIGINT)
    END
  END;

COMMENT ON MACRO shares_of IS 'volume * lot; the largest int64 where it is more. [shares]
volume: Volume in units of lot. [lot shares]
lot: Shares of one unit. [shares]';
