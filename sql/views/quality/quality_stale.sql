-- Stretches of five or more daily bars with the same open, high, low and close. With volume, the source has repeated a
-- bar; without volume, the instrument was suspended, or the source fills holidays.
-- Grain: one row for each symbol and stretch. Inputs: raw.bars_1d.
CREATE OR REPLACE VIEW quality_stale AS
SELECT symbol, min(trade_date) AS first_date, max(trade_date) AS last_date, count(*) AS bars,
  count(*) FILTER (volume > 0) AS traded, min(close) AS close, region
FROM (
  SELECT symbol, trade_date, close, volume, region, sum(CAST(is_new AS INTEGER)) OVER bars AS stretch
  FROM (
    SELECT symbol, trade_date, open, high, low, close, volume, region,
      (open, high, low, close) IS DISTINCT FROM lag((open, high, low, close)) OVER bars AS is_new
    FROM raw.bars_1d
    WINDOW bars AS (PARTITION BY symbol ORDER BY trade_date)
  )
  WINDOW bars AS (PARTITION BY symbol ORDER BY trade_date ROWS UNBOUNDED PRECEDING)
)
GROUP BY symbol, stretch, region
HAVING count(*) >= 5;

COMMENT ON VIEW quality_stale IS 'Stretches of five daily bars or more with one and the same open, high, low and close. One row for each symbol and stretch; the newest grows with each bar.';
COMMENT ON COLUMN quality_stale.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN quality_stale.first_date IS 'First day of the stretch.';
COMMENT ON COLUMN quality_stale.last_date IS 'Last day of the stretch.';
COMMENT ON COLUMN quality_stale.bars IS 'Bars in the stretch. [bars]';
COMMENT ON COLUMN quality_stale.traded IS 'Bars in it with volume: a source that repeats itself. [bars]';
COMMENT ON COLUMN quality_stale.close IS 'Their close. [currency]';
COMMENT ON COLUMN quality_stale.region IS 'Region: CN, HK or US.';
