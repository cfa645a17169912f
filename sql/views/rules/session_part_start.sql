-- The opening of the part of the session on whose grid a minute bar lies. The minutes before a part lie on its grid, too,
-- and those after the last part on the grid of that part.
-- Grain: one value for each minute bar. Inputs: its region, and its label in milliseconds.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO session_part_start(region, local_ms) AS
  CASE region
    WHEN 'CN' THEN CASE
      WHEN local_ms <= 41400000 THEN 34200000
      ELSE 46800000
    END
    WHEN 'HK' THEN CASE
      WHEN local_ms <= 43200000 THEN 34200000
      ELSE 46800000
    END
    WHEN 'US' THEN 34200000
  END;

COMMENT ON MACRO session_part_start IS 'Opening of the part of the session on whose grid a minute bar lies, counted from local midnight. [ms]
region: Region: CN, HK or US.
local_ms: The minute bar''s own label, counted from local midnight. [ms]';
