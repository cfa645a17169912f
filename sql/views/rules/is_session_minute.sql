-- Whether a bar that ends at a time of day is one of the regular session's minutes. The bar of the opening auction is
-- not one of them.
-- Grain: one value for each minute bar. Inputs: region, local_time.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO is_session_minute(region, local_time) AS
  CASE region
    WHEN 'CN' THEN ((local_time > TIME '09:30' AND local_time <= TIME '11:30') OR (local_time > TIME '13:00' AND local_time <= TIME '15:00'))
    WHEN 'HK' THEN ((local_time > TIME '09:30' AND local_time <= TIME '12:00') OR (local_time > TIME '13:00' AND local_time <= TIME '16:00'))
    WHEN 'US' THEN ((local_time > TIME '09:30' AND local_time <= TIME '16:00'))
  END;

COMMENT ON MACRO is_session_minute IS 'Whether a minute bar that ends at a local time lies within the regular session.
region: Region: CN, HK or US.
local_time: End of the bar on a clock at the exchange.';
