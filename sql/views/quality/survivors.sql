-- How many of the instruments that traded on the last session of each year are in the lists of instruments today.
-- A service names only the instruments that there are: what was delisted before this lake first saw the lists of a region is
-- missing, unless its bars were imported or requested by name.
-- A symbol that is another company's since, or was renamed since, is not the instrument that traded.
-- Grain: one row for each region and year. Inputs: raw.bars_1d, raw.trading_days, raw.instruments, raw.symbol_changes.
CREATE OR REPLACE VIEW survivors AS
WITH year_ends AS (
  SELECT region, max(trade_date) AS trade_date
  FROM raw.trading_days
  GROUP BY region, year(trade_date)
),
listed AS (
  SELECT symbol, bool_or(valid_to IS NULL) AS is_listed
  FROM raw.instruments
  GROUP BY symbol
),
changed AS (
  SELECT symbol, max(from_date) AS from_date
  FROM raw.symbol_changes
  GROUP BY symbol
),
first_lists AS (
  SELECT region, min(local_date(valid_from, region)) AS first_list
  FROM raw.instruments
  GROUP BY region
)
SELECT
  b.trade_date,
  b.region,
  count(*) AS traded,
  count(*) FILTER (l.is_listed AND coalesce(c.from_date <= b.trade_date, true)) AS still_listed,
  still_listed / traded AS share,
  count(*) FILTER (NOT l.is_listed OR (l.is_listed AND c.from_date > b.trade_date)) AS left_lists,
  count(*) FILTER (l.is_listed IS NULL) AS in_no_list,
  any_value(f.first_list) AS first_list
FROM (SELECT DISTINCT symbol, region, trade_date FROM raw.bars_1d SEMI JOIN year_ends USING (region, trade_date) WHERE volume > 0) AS b
LEFT JOIN listed AS l ON l.symbol = b.symbol
LEFT JOIN changed AS c ON c.symbol = b.symbol
LEFT JOIN first_lists AS f ON f.region = b.region
GROUP BY b.trade_date, b.region;

COMMENT ON VIEW survivors IS 'How many of the instruments that traded on the last session of each year are in today''s lists of instruments. One row for each region and year; it changes with each list.';
COMMENT ON COLUMN survivors.trade_date IS 'Last session of the year that the lake knows, in the exchange''s own zone.';
COMMENT ON COLUMN survivors.region IS 'Region: CN, HK or US.';
COMMENT ON COLUMN survivors.traded IS 'Instruments with a bar with volume on the session. [instruments]';
COMMENT ON COLUMN survivors.still_listed IS 'Those of them that are in today''s lists. [instruments]';
COMMENT ON COLUMN survivors.share IS 'still_listed / traded. [ratio]';
COMMENT ON COLUMN survivors.left_lists IS 'Those of them that were in a list that this lake has seen, and left it, or have another symbol since. [instruments]';
COMMENT ON COLUMN survivors.in_no_list IS 'Those of them that were in no list that this lake has seen. [instruments]';
COMMENT ON COLUMN survivors.first_list IS 'Date on which this lake first saw a list of the region''s instruments; null where it has none.';
