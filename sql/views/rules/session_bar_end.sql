-- The end of the session's bar to which a minute bar belongs. Each part of the session has a separate grid, anchored at
-- its opening, and its last bar ends with it: hours of the Chinese morning end at 10:30 and 11:30. The opening
-- auction's bar, labelled with the opening itself (CN, HK), belongs to the first bar. A minute before a part, or after
-- the last one, belongs to the bar on that grid that contains it.
-- Grain: one value for each minute bar. Inputs: its region, its label and the length of the bars, both in milliseconds.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO session_bar_end(region, local_ms, step_ms) AS
  session_grid_end(region, local_ms, step_ms, session_part_start(region, local_ms), session_part_end(region, local_ms));

COMMENT ON MACRO session_bar_end IS 'End of the session''s bar that a minute bar belongs to, counted from local midnight. [ms]
region: Region: CN, HK or US.
local_ms: The minute bar''s own label, counted from local midnight. [ms]
step_ms: Length of the bars. [ms]';
