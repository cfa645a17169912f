-- Number of decimals of an instrument's prices on the Chinese exchanges, to which they round the limits of a day.
-- Grain: one value for each symbol. Inputs: symbol, and the instrument's type.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO price_decimals(symbol, type) AS
  CASE
    WHEN type = 'etf' OR type IS NULL AND regexp_matches(symbol, '^(5\d{5}\.SH|1[56]\d{4}\.SZ)$') THEN 3
    ELSE 2
  END;

COMMENT ON MACRO price_decimals IS 'Decimals of an instrument''s prices on the Chinese exchanges: 3 for exchange-traded funds, else 2.
symbol: Instrument symbol.
type: Kind of instrument; null: derived from the code.';
