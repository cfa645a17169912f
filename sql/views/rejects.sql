-- What was delivered and set aside, with its source and reason.
-- Grain: one row a defect. Inputs: raw.rejects.
CREATE OR REPLACE VIEW rejects AS
SELECT * FROM raw.rejects;

COMMENT ON VIEW rejects IS 'Rows that were delivered and set aside: where each came from, the rule it broke, and why.';
