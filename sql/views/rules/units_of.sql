-- Shares in units of volume, rounded half up. More than an int64 has become its largest value.
-- Grain: one value a volume. Inputs: shares, unit.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO units_of(shares, unit) AS
  CAST(least((shares * 2 + unit) // (2 * unit), 9223372036854775807) AS BIGINT);

COMMENT ON MACRO units_of IS 'Shares in units, rounded half up. [lot shares]
shares: Shares, as HUGEINT. [shares]
unit: Shares of one unit. [shares]';
