-- Sessions from the listing on to which the limit of a board does not apply: five on STAR, on ChiNext since 2020-08-24 and
-- on the main boards since 2023-04-10, none of funds, else one.
-- Grain: one value for each instrument. Inputs: symbol, the instrument's type and listing date.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO unlimited_sessions(symbol, type, listing_date) AS
  CASE
    WHEN type = 'etf' OR type IS NULL AND regexp_matches(symbol, '^(5\d{5}\.SH|1[56]\d{4}\.SZ)$') THEN 0
    WHEN regexp_matches(symbol, '\.BJ$') THEN CASE
      WHEN listing_date >= DATE '2021-11-15' THEN 1
      ELSE 1
    END
    WHEN regexp_matches(symbol, '^68[89]\d{3}\.SH$') THEN CASE
      WHEN listing_date >= DATE '2019-07-22' THEN 5
      ELSE 1
    END
    WHEN regexp_matches(symbol, '^30[0-2]\d{3}\.SZ$') THEN CASE
      WHEN listing_date >= DATE '2020-08-24' THEN 5
      ELSE 1
    END
    WHEN regexp_matches(symbol, '\.(SH|SZ)$') THEN CASE
      WHEN listing_date >= DATE '2023-04-10' THEN 5
      ELSE 1
    END
    ELSE 1
  END;

COMMENT ON MACRO unlimited_sessions IS 'Sessions from the listing on to which the limit of the board does not apply. [sessions]
symbol: Instrument symbol.
type: Kind of instrument; null: derived from the code.
listing_date: Date of the listing. [date]';
