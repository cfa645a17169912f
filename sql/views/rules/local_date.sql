-- The local date of the exchange at an instant, independent of the zone of the client.
-- Grain: one value for each instant. Inputs: an instant and a region.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO local_date(instant, region) AS
  CASE region
    WHEN 'CN' THEN CAST(timezone('Asia/Shanghai', instant) AS DATE)
    WHEN 'HK' THEN CAST(timezone('Asia/Hong_Kong', instant) AS DATE)
    WHEN 'US' THEN CAST(timezone('America/New_York', instant) AS DATE)
  END;

COMMENT ON MACRO local_date IS 'Date that a clock at the exchange shows at an instant. [date]
instant: Any TIMESTAMPTZ. [UTC]
region: Region: CN, HK or US.';
