-- Exchanges as they stand now, with the number of instruments on each.
-- Grain: one row an exchange. Inputs: raw.exchanges (every version ever seen).
CREATE OR REPLACE VIEW exchanges AS
SELECT exchange, region, "count", valid_from AS known_since
FROM raw.exchanges
WHERE valid_to IS NULL;

COMMENT ON VIEW exchanges IS 'Exchanges as they stand now. All versions: raw.exchanges.';
