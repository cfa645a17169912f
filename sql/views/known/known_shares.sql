-- The versions of numbers of shares that were the newest known at some time, from when until when: see known_statements.
-- Grain: one row a symbol and date from which another version was the newest known. Inputs: raw.shares, known_statements.
CREATE OR REPLACE VIEW raw.known_shares AS FROM known_statements('raw.shares');

COMMENT ON VIEW raw.known_shares IS 'Versions of numbers of shares that were the newest known at some time. One row a symbol and date from which another version was the newest known.';
