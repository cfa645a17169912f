-- Factors of ex-events as sources state them. See sql/views/actions/ex_factors.sql.
-- Grain: one row for each symbol, ex-date and source. Inputs: raw.ex_factors.
CREATE OR REPLACE VIEW ex_factors AS
SELECT symbol, ex_date, source, factor, first_seen_at, region,
  row_number() OVER (PARTITION BY symbol, ex_date ORDER BY first_seen_at, source) AS priority
FROM raw.ex_factors;

COMMENT ON VIEW ex_factors IS 'Factors of ex-events as sources state them, one event a row. One row for each symbol, ex-date and source.';
