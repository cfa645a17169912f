-- The date from which a version of a statement counts as known: the date of its announcement; without one, the date (in
-- the exchange's zone) on which this lake first saw it.
-- Grain: one value for each version. Inputs: announce_date, first_seen_at and region of a table of statements.
CREATE OR REPLACE MACRO known_from(announce_date, first_seen_at, region) AS
  coalesce(announce_date, local_date(first_seen_at, region));

COMMENT ON MACRO known_from IS 'Date from which a version of a statement counts as known. [date]
announce_date: Date of publication; null where the source does not state it.
first_seen_at: When this lake first saw the version. [UTC]
region: Region: CN, HK or US.';
