-- Rows that were delivered and set aside, with source and reason.
-- Grain: one row for each defect. Inputs: raw.rejects.
CREATE OR REPLACE VIEW rejects AS
SELECT * FROM raw.rejects;

COMMENT ON VIEW rejects IS 'Rows that were delivered and set aside: where each came from, the rule it broke, and why. One row for each defect.';
COMMENT ON COLUMN rejects.run_id IS 'Run that delivered it.';
COMMENT ON COLUMN rejects.dataset IS 'Table that it was meant for.';
COMMENT ON COLUMN rejects.source IS 'File or request that it came from.';
COMMENT ON COLUMN rejects.line IS 'Line of the file, or position in the response, from 1; null where there is none.';
COMMENT ON COLUMN rejects.symbol IS 'Instrument symbol, where it has one.';
COMMENT ON COLUMN rejects."timestamp" IS 'The bar''s label, as delivered; null for other rows.';
COMMENT ON COLUMN rejects.rule IS 'Rule that it broke.';
COMMENT ON COLUMN rejects.reason IS 'What was the matter.';
COMMENT ON COLUMN rejects.bars IS 'Bars or records that were set aside for it; 0 where it is only a remark, null for one.';
COMMENT ON COLUMN rejects."row" IS 'What was delivered, as text.';
