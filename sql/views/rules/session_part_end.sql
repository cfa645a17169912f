-- The latest end of a bar that a minute bar belongs to: the close of the part of the session, and for minutes after the
-- last part the end of the day.
-- Grain: one value for each minute bar. Inputs: its region, and its label in milliseconds.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO session_part_end(region, local_ms) AS
  CASE region
    WHEN 'CN' THEN CASE
      WHEN local_ms <= 41400000 THEN 41400000
      WHEN local_ms <= 54000000 THEN 54000000
      ELSE 86400000
    END
    WHEN 'HK' THEN CASE
      WHEN local_ms <= 43200000 THEN 43200000
      WHEN local_ms <= 57600000 THEN 57600000
      ELSE 86400000
    END
    WHEN 'US' THEN CASE
      WHEN local_ms <= 57600000 THEN 57600000
      ELSE 86400000
    END
  END;

COMMENT ON MACRO session_part_end IS 'Latest end of a bar that a minute bar belongs to, counted from local midnight. [ms]
region: Region: CN, HK or US.
local_ms: The minute bar''s own label, counted from local midnight. [ms]';
