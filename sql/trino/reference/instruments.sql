-- Current instrument metadata.
-- Grain: one row for each symbol. Inputs: raw.instruments (every version ever seen). Same rows:
-- sql/views/reference/instruments.sql.
CREATE OR REPLACE VIEW instruments AS
SELECT symbol, code, "exchange", name, "type", ext_type, float_shares, total_shares, limit_up, limit_down, tick_size,
  lot_size, listing_date, name_en, ext_other, region, valid_from AS known_since
FROM raw.instruments
WHERE valid_to IS NULL;

COMMENT ON VIEW instruments IS 'Current instrument metadata. One row for each symbol. All versions: instrument_versions.';
