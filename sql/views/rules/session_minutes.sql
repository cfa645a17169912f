-- The number of one-minute bars in a region's regular session. The bar of the opening auction is not counted.
-- Grain: one value for each region. Inputs: region.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO session_minutes(region) AS
  CASE region
    WHEN 'CN' THEN 240
    WHEN 'HK' THEN 330
    WHEN 'US' THEN 390
  END;

COMMENT ON MACRO session_minutes IS 'Minutes of a region''s regular session. [minutes]
region: Region: CN, HK or US.';
