-- The instant that the local times of a trading date count from: noon in the exchange's zone less twelve hours, which
-- holds in all trading hours, even on the day of a change of clocks.
-- Grain: one row a region and date, 1970 to 2069. Inputs: none but the zones' own tables.
CREATE OR REPLACE VIEW local_midnights AS
SELECT
  region,
  CAST(day AS DATE) AS trade_date,
  epoch_ms(
    CASE region
      WHEN 'CN' THEN timezone('Asia/Shanghai', day + INTERVAL 12 HOUR)
      WHEN 'HK' THEN timezone('Asia/Hong_Kong', day + INTERVAL 12 HOUR)
      WHEN 'US' THEN timezone('America/New_York', day + INTERVAL 12 HOUR)
    END
  ) - 43200000 AS midnight_ms
FROM (VALUES ('CN'), ('HK'), ('US')) AS regions(region)
CROSS JOIN generate_series(TIMESTAMP '1970-01-01', TIMESTAMP '2069-12-31', INTERVAL 1 DAY) AS days(day);

COMMENT ON VIEW local_midnights IS 'The instant that the local times of a trading date count from. One row a region and date, 1970 to 2069.';
COMMENT ON COLUMN local_midnights.region IS 'Region: CN, HK or US.';
COMMENT ON COLUMN local_midnights.trade_date IS 'Date in the exchange''s own zone.';
COMMENT ON COLUMN local_midnights.midnight_ms IS 'Noon in the exchange''s zone less twelve hours, since 1970-01-01 UTC. [ms]';
