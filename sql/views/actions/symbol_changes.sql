-- What happened to symbols, as sources state it: renames, mergers, codes given to other companies, delistings.
-- Grain: one row for each symbol, date and source. Inputs: raw.symbol_changes.
CREATE OR REPLACE VIEW symbol_changes AS
SELECT *
FROM raw.symbol_changes;

COMMENT ON VIEW symbol_changes IS 'What happened to symbols, as sources state it: renames, mergers, codes given to other companies, delistings. One row for each symbol, date and source. symbol_names has what follows: which symbols make one history.';
