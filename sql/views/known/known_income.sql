-- The versions of income statements that were the newest known at some time, from when until when: see known_statements.
-- Grain: one row a symbol and date from which another version was the newest known. Inputs: raw.income, known_statements.
CREATE OR REPLACE VIEW raw.known_income AS FROM known_statements('raw.income');

COMMENT ON VIEW raw.known_income IS 'Versions of income statements that were the newest known at some time. One row a symbol and date from which another version was the newest known.';
