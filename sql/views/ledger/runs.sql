-- Runs of pipelines. ORDER BY run_id DESC returns the newest first.
-- Grain: one row for each run. Inputs: raw.runs.
CREATE OR REPLACE VIEW runs AS
SELECT *, finished_at - started_at AS took
FROM raw.runs;

COMMENT ON VIEW runs IS 'Runs of pipelines: when, how each ended, what it asked for, received and landed. One row for each run.';
COMMENT ON COLUMN runs.took IS 'finished_at - started_at. [interval]';
