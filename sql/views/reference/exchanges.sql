-- Current exchanges, with the number of instruments on each.
-- Grain: one row for each exchange. Inputs: raw.exchanges (every version ever seen).
CREATE OR REPLACE VIEW exchanges AS
SELECT exchange, region, "count", valid_from AS known_since
FROM raw.exchanges
WHERE valid_to IS NULL;

COMMENT ON VIEW exchanges IS 'Current exchanges. One row for each exchange. All versions: raw.exchanges.';
COMMENT ON COLUMN exchanges.known_since IS 'When this content was first seen. [UTC]';
