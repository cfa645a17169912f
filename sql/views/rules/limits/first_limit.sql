-- The limit of the first session of a listing, to which the board's does not apply: 44 in Shanghai and Shenzhen since
-- 2014, if it is the only such session, else none.
-- Grain: one value for each instrument. Inputs: unlimited_sessions.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO first_limit(symbol, listing_date, sessions) AS
  CASE
    WHEN sessions = 1 AND listing_date >= DATE '2014-01-01' AND regexp_matches(symbol, '\.(SH|SZ)$') THEN 44
  END;

COMMENT ON MACRO first_limit IS 'How far the price may rise on the first day of a listing; null where there is no limit. [percent]
symbol: Instrument symbol.
listing_date: Date of the listing. [date]
sessions: Sessions to which the limit of the board does not apply.';
