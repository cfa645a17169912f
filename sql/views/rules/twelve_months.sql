-- The last twelve months of a flow that cumulates over the fiscal year: the report + the year before - the same period a
-- year before; of a full year, the report.
-- Grain: one value for each period. Inputs: the fiscal quarter, and the flow as for fiscal_quarter.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO twelve_months(quarter, flow, ago3, ago6, ago9, ago12) AS
  CASE quarter
    WHEN 4 THEN flow
    WHEN 3 THEN flow + ago9 - ago12
    WHEN 2 THEN flow + ago6 - ago12
    WHEN 1 THEN flow + ago3 - ago12
  END;

COMMENT ON MACRO twelve_months IS 'Last twelve months of a flow that cumulates over the fiscal year; null where a part of it is not known.
quarter: Quarter of the fiscal year: fiscal_quarter.
flow: The flow of the period, from the start of the fiscal year.
ago3: The same of the period 3 months before.
ago6: The same, 6 months before.
ago9: The same, 9 months before.
ago12: The same, 12 months before.';
