-- The end of the session's bar to which a minute bar belongs, on the grid of a part of the session: session_bar_end, for
-- those that have the part as columns. Planning then takes half of the time.
-- Grain: one value for each minute bar. Inputs: its region, its label, the length of the bars, session_part_start and
-- session_part_end, all in milliseconds.
-- The expression is written by `vitest test/sql/market-macros.test.ts -u` from src/market and src/db/market.
CREATE OR REPLACE MACRO session_grid_end(region, local_ms, step_ms, part_start, part_end) AS
  least(part_end, part_start + CASE
    WHEN local_ms < part_start OR (local_ms = part_start AND region IN ('US')) THEN (local_ms - part_start) // step_ms
    ELSE (local_ms - part_start - 1) // step_ms + 1
  END * step_ms);

COMMENT ON MACRO session_grid_end IS 'End of the session''s bar that a minute bar belongs to, from the start and the end of its part of the session, counted from local midnight. [ms]
region: Region: CN, HK or US.
local_ms: The minute bar''s own label, counted from local midnight. [ms]
step_ms: Length of the bars. [ms]
part_start: session_part_start of the minute bar. [ms]
part_end: session_part_end of the minute bar. [ms]';
