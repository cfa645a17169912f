-- The versions of balance sheets that were the newest known at some time, from when until when: see known_statements.
-- Grain: one row a symbol and date from which another version was the newest known. Inputs: raw.balance_sheet, known_statements.
CREATE OR REPLACE VIEW raw.known_balance_sheet AS FROM known_statements('raw.balance_sheet');

COMMENT ON VIEW raw.known_balance_sheet IS 'Versions of balance sheets that were the newest known at some time. One row a symbol and date from which another version was the newest known.';
