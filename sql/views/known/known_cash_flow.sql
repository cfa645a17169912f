-- The versions of cash flow statements that were the newest known ones at some time, with the dates between which they
-- were: see known_statements.
-- Grain: one row for each symbol and date from which another version was the newest known one. Inputs: raw.cash_flow,
-- known_statements.
CREATE OR REPLACE VIEW raw.known_cash_flow AS FROM known_statements('raw.cash_flow');

COMMENT ON VIEW raw.known_cash_flow IS 'Versions of cash flow statements that were the newest known at some time. One row for each symbol and date from which another version was the newest known.';
