-- Current universes.
-- Grain: one row for each universe. Inputs: raw.universes (every version ever seen).
CREATE OR REPLACE VIEW universes AS
SELECT * EXCLUDE (valid_from, valid_to), valid_from AS known_since
FROM raw.universes
WHERE valid_to IS NULL;

COMMENT ON VIEW universes IS 'Current universes. One row for each universe. All versions: raw.universes.';
COMMENT ON COLUMN universes.known_since IS 'When this content was first seen. [UTC]';
