-- Shares in one unit of the volume in which a region's bars are served.
-- Grain: one value for each region. Inputs: region.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO region_lot(region) AS
  CASE region
    WHEN 'CN' THEN 100
    WHEN 'HK' THEN 1
    WHEN 'US' THEN 1
  END;

COMMENT ON MACRO region_lot IS 'Shares of one unit of volume that a region is served in: 100 in CN, else 1. [shares]
region: Region: CN, HK or US.';
