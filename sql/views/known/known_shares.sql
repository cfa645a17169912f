-- The versions of numbers of shares that were the newest known ones at some time, with the dates between which they
-- were: see known_statements.
-- Grain: one row for each symbol and date from which another version was the newest known one. Inputs: raw.shares,
-- known_statements.
CREATE OR REPLACE VIEW raw.known_shares AS FROM known_statements('raw.shares');

COMMENT ON VIEW raw.known_shares IS 'Versions of numbers of shares that were the newest known at some time. One row for each symbol and date from which another version was the newest known.';
