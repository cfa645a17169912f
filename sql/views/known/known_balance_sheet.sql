-- The versions of balance sheets that were the newest known ones at some time, with the dates between which they were:
-- see known_statements.
-- Grain: one row for each symbol and date from which another version was the newest known one.
-- Inputs: raw.balance_sheet, known_statements.
CREATE OR REPLACE VIEW raw.known_balance_sheet AS FROM known_statements('raw.balance_sheet');

COMMENT ON VIEW raw.known_balance_sheet IS 'Versions of balance sheets that were the newest known at some time. One row for each symbol and date from which another version was the newest known.';
