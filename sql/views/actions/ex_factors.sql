-- Factors of ex-events as sources state them. A factor is known from its ex-date on.
-- Grain: one row for each symbol, ex-date and source. Inputs: raw.ex_factors.
CREATE OR REPLACE VIEW ex_factors AS
SELECT *, row_number() OVER (PARTITION BY symbol, ex_date ORDER BY first_seen_at, source) AS priority
FROM raw.ex_factors;

COMMENT ON VIEW ex_factors IS 'Factors of ex-events as sources state them, one event a row. One row for each symbol, ex-date and source. ex_events has what prices are adjusted by.';
COMMENT ON COLUMN ex_factors.priority IS '1 for the source that this lake saw first, then 2 and so on.';
