-- The known versions of each instrument, with the dates between which they are valid. A version is valid from the date
-- (in the exchange's zone) on which this lake first saw it. The first version of each symbol is assumed to be valid before
-- its date, too, from the listing date if there is one: other instruments may have been seen earlier, or imported.
-- Instruments that were delisted earlier are unknown.
-- Grain: one row for each symbol and stretch of dates; the stretches of a symbol do not overlap.
-- Inputs: raw.instruments.
CREATE OR REPLACE VIEW instrument_versions AS
WITH dated AS NOT MATERIALIZED (
  SELECT *,
    local_date(valid_from, region) AS seen_from,
    local_date(valid_to, region) AS seen_to,
    valid_from = min(valid_from) OVER (PARTITION BY symbol) AS is_first
  FROM raw.instruments
)
SELECT * EXCLUDE (valid_from, valid_to, seen_from, seen_to, is_first),
  seen_from AS from_date, seen_to AS to_date, 'observed' AS known
FROM dated
WHERE seen_to IS NULL OR seen_from < seen_to
UNION ALL
SELECT * EXCLUDE (valid_from, valid_to, seen_from, seen_to, is_first),
  coalesce(listing_date, DATE '0001-01-01'), seen_from, 'assumed'
FROM dated
WHERE is_first AND coalesce(listing_date, DATE '0001-01-01') < seen_from;

COMMENT ON VIEW instrument_versions IS 'What was known of each instrument, from which date to which. One row for each symbol and stretch of dates.';
COMMENT ON COLUMN instrument_versions.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN instrument_versions.from_date IS 'First date, in the exchange''s own zone.';
COMMENT ON COLUMN instrument_versions.to_date IS 'First date after the version; null while it is current.';
COMMENT ON COLUMN instrument_versions.known IS 'observed: this lake saw it then; assumed: from before it was first seen, with the content of then.';
COMMENT ON COLUMN instrument_versions.total_shares IS 'Shares issued. [shares]';
COMMENT ON COLUMN instrument_versions.float_shares IS 'Shares that trade freely. [shares]';
COMMENT ON COLUMN instrument_versions.limit_up IS 'Highest price permitted on the day that it was seen; 100000 means none. [currency]';
COMMENT ON COLUMN instrument_versions.limit_down IS 'Lowest price permitted on the day that it was seen. [currency]';
COMMENT ON COLUMN instrument_versions.code IS 'Code within the exchange.';
COMMENT ON COLUMN instrument_versions.exchange IS 'Exchange suffix.';
COMMENT ON COLUMN instrument_versions.name IS 'Display name.';
COMMENT ON COLUMN instrument_versions.type IS 'Kind of instrument: stock, etf, index, bond, fund, futures, options, other.';
COMMENT ON COLUMN instrument_versions.ext_type IS 'Variant of the service''s ext object, such as cn_equity.';
COMMENT ON COLUMN instrument_versions.tick_size IS 'Smallest step of the price. [currency]';
COMMENT ON COLUMN instrument_versions.lot_size IS 'Shares of a board lot. [shares]';
COMMENT ON COLUMN instrument_versions.listing_date IS 'First trading date.';
COMMENT ON COLUMN instrument_versions.name_en IS 'English name.';
COMMENT ON COLUMN instrument_versions.ext_other IS 'Other members of ext, as JSON text.';
COMMENT ON COLUMN instrument_versions.region IS 'Region: CN, HK or US.';
