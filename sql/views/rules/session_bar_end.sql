-- The end of the session's bar to which a minute bar belongs. Each part of the session has a separate grid, anchored at
-- its opening, and its last bar ends with it: hours of the Chinese morning end at 10:30 and 11:30. The opening
-- auction's bar, labelled with the opening itself (CN, HK), belongs to the first bar. A minute before a part, or after
-- the last one, belongs to the bar on that grid that contains it.
-- Grain: one value for each minute bar. Inputs: its region, its label and the length of the bars, both in milliseconds.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO session_bar_end(region, local_ms, step_ms) AS
  CASE region
    WHEN 'CN' THEN CASE
      WHEN local_ms < 34200000 THEN 34200000 - ((34200000 - local_ms) // step_ms) * step_ms
      WHEN local_ms <= 41400000 THEN least(41400000, 34200000 + greatest((local_ms - 34200000 + (step_ms - 1)) // step_ms, 1) * step_ms)
      WHEN local_ms < 46800000 THEN 46800000 - ((46800000 - local_ms) // step_ms) * step_ms
      WHEN local_ms <= 54000000 THEN least(54000000, 46800000 + greatest((local_ms - 46800000 + (step_ms - 1)) // step_ms, 1) * step_ms)
      ELSE least(86400000, 46800000 + ((local_ms - 46800000 + (step_ms - 1)) // step_ms) * step_ms)
    END
    WHEN 'HK' THEN CASE
      WHEN local_ms < 34200000 THEN 34200000 - ((34200000 - local_ms) // step_ms) * step_ms
      WHEN local_ms <= 43200000 THEN least(43200000, 34200000 + greatest((local_ms - 34200000 + (step_ms - 1)) // step_ms, 1) * step_ms)
      WHEN local_ms < 46800000 THEN 46800000 - ((46800000 - local_ms) // step_ms) * step_ms
      WHEN local_ms <= 57600000 THEN least(57600000, 46800000 + greatest((local_ms - 46800000 + (step_ms - 1)) // step_ms, 1) * step_ms)
      ELSE least(86400000, 46800000 + ((local_ms - 46800000 + (step_ms - 1)) // step_ms) * step_ms)
    END
    WHEN 'US' THEN CASE
      WHEN local_ms <= 34200000 THEN 34200000 - ((34200000 - local_ms) // step_ms) * step_ms
      WHEN local_ms <= 57600000 THEN least(57600000, 34200000 + greatest((local_ms - 34200000 + (step_ms - 1)) // step_ms, 1) * step_ms)
      ELSE least(86400000, 34200000 + ((local_ms - 34200000 + (step_ms - 1)) // step_ms) * step_ms)
    END
  END;

COMMENT ON MACRO session_bar_end IS 'End of the session''s bar that a minute bar belongs to, counted from local midnight. [ms]
region: Region: CN, HK or US.
local_ms: The minute bar''s own label, counted from local midnight. [ms]
step_ms: Length of the bars. [ms]';
