-- Current instrument metadata.
-- Grain: one row for each symbol. Inputs: raw.instruments (every version ever seen).
CREATE OR REPLACE VIEW instruments AS
SELECT * EXCLUDE (valid_from, valid_to), valid_from AS known_since
FROM raw.instruments
WHERE valid_to IS NULL;

COMMENT ON VIEW instruments IS 'Current instrument metadata, one row for each symbol. All versions: raw.instruments.';
COMMENT ON COLUMN instruments.known_since IS 'When this content was first seen. [UTC]';
