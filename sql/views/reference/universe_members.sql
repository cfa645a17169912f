-- Current members of universes.
-- Grain: one row for each universe and symbol. Inputs: raw.universe_members (every period of membership ever seen).
CREATE OR REPLACE VIEW universe_members AS
SELECT id, symbol, region, valid_from AS known_since
FROM raw.universe_members
WHERE valid_to IS NULL;

COMMENT ON VIEW universe_members IS 'Current members of universes. One row for each universe and symbol. All spells of membership: raw.universe_members.';
COMMENT ON COLUMN universe_members.known_since IS 'When the membership was first seen. [UTC]';
