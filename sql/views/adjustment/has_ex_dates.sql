-- Whether a source says of any date that the price level changes: ex_dates has rows. It says no; where a lake has corporate
-- actions or factors, its sessions replace it. Lakes without these then plan no joins with them, which would take as long
-- as all else of a symbol's adjusted days.
-- Grain: one value. Inputs: none.
CREATE OR REPLACE MACRO has_ex_dates() AS false;

COMMENT ON MACRO has_ex_dates IS 'Whether the lake has corporate actions or factors of ex-events.';
