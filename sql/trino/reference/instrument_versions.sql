-- The known versions of each instrument, with the dates between which they are valid: see
-- sql/views/reference/instrument_versions.sql. Instruments as they were known at the end of a day, delisted ones
-- included (DuckDB: instruments_asof):
--   SELECT * FROM instrument_versions WHERE from_date <= DATE '2024-06-28' AND (to_date IS NULL OR to_date > DATE '2024-06-28')
-- Grain: one row for each symbol and stretch of dates; the stretches of a symbol do not overlap.
-- Inputs: raw.instruments.
CREATE OR REPLACE VIEW instrument_versions AS
WITH dated AS (
  SELECT *,
    local_date(valid_from, region) AS seen_from,
    local_date(valid_to, region) AS seen_to,
    valid_from = min(valid_from) OVER (PARTITION BY symbol) AS is_first
  FROM raw.instruments
)
SELECT symbol, code, "exchange", name, "type", ext_type, float_shares, total_shares, limit_up, limit_down, tick_size,
  lot_size, listing_date, name_en, ext_other, region, seen_from AS from_date, seen_to AS to_date, 'observed' AS known
FROM dated
WHERE seen_to IS NULL OR seen_from < seen_to
UNION ALL
SELECT symbol, code, "exchange", name, "type", ext_type, float_shares, total_shares, limit_up, limit_down, tick_size,
  lot_size, listing_date, name_en, ext_other, region, coalesce(listing_date, DATE '0001-01-01'), seen_from, 'assumed'
FROM dated
WHERE is_first AND coalesce(listing_date, DATE '0001-01-01') < seen_from;

COMMENT ON VIEW instrument_versions IS 'What was known of each instrument: from_date inclusive, to_date exclusive (null: still). One row for each symbol and stretch of dates.';
