-- What happened to symbols, as sources state it. See sql/views/actions/symbol_changes.sql.
-- Grain: one row for each symbol, date and source. Inputs: raw.symbol_changes.
CREATE OR REPLACE VIEW symbol_changes AS
SELECT symbol, from_date, source, kind, new_symbol, until_date, first_seen_at, region
FROM raw.symbol_changes;

COMMENT ON VIEW symbol_changes IS 'What happened to symbols, as sources state it: renames, mergers, codes given to other companies, delistings. One row for each symbol, date and source.';
