-- The versions of income statements that were the newest known ones at some time, with the dates between which they
-- were: see known_statements.
-- Grain: one row for each symbol and date from which another version was the newest known one. Inputs: raw.income,
-- known_statements.
CREATE OR REPLACE VIEW raw.known_income AS FROM known_statements('raw.income');

COMMENT ON VIEW raw.known_income IS 'Versions of income statements that were the newest known at some time. One row for each symbol and date from which another version was the newest known.';
