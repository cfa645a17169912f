-- First and last daily bar of each symbol.
-- Grain: one row for each symbol. Inputs: raw.bars_1d.
CREATE OR REPLACE VIEW bar_spans AS
SELECT
  symbol,
  region,
  min(trade_date) AS first_date,
  max(trade_date) AS last_date,
  min(trade_date) FILTER (volume > 0) AS first_traded,
  max(trade_date) FILTER (volume > 0) AS last_traded,
  count(*) AS bars
FROM raw.bars_1d
GROUP BY symbol, region;

COMMENT ON VIEW bar_spans IS 'First and last daily bar of each symbol. One row for each symbol; it changes with each new bar.';
COMMENT ON COLUMN bar_spans.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN bar_spans.region IS 'Region: CN, HK or US.';
COMMENT ON COLUMN bar_spans.first_date IS 'Trading date of the first bar.';
COMMENT ON COLUMN bar_spans.last_date IS 'Trading date of the last bar.';
COMMENT ON COLUMN bar_spans.first_traded IS 'Trading date of the first bar with volume; null where none has any.';
COMMENT ON COLUMN bar_spans.last_traded IS 'Trading date of the last bar with volume.';
COMMENT ON COLUMN bar_spans.bars IS 'Number of daily bars. [bars]';
