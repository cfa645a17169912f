-- Bars whose prices contradict one another. A bar without trades whose open, high and low are all 0 is not one of them,
-- because 0 means that there is no price.
-- Grain: one row for each bar and rule that it breaks. Inputs: raw.bars_1d, raw.bars_1m.
CREATE OR REPLACE VIEW quality_ohlc AS
WITH bars AS NOT MATERIALIZED (
  SELECT 'bars_1d' AS dataset, symbol, trade_date, "timestamp", open, high, low, close, volume, amount, region
  FROM raw.bars_1d
  UNION ALL
  SELECT 'bars_1m', symbol, trade_date, "timestamp", open, high, low, close, volume, amount, region
  FROM raw.bars_1m
),
judged AS NOT MATERIALIZED (
  SELECT *, list_filter([
      CASE WHEN least(open, high, low, close) < 0 OR NOT isfinite(open + high + low + close) THEN 'negative or not finite' END,
      CASE WHEN close = 0 OR (0 IN (open, high, low) AND NOT (volume = 0 AND open = 0 AND high = 0 AND low = 0))
        THEN 'price of 0' END,
      CASE WHEN 0 NOT IN (open, high, low, close) AND high < greatest(open, low, close) THEN 'high is not the highest' END,
      CASE WHEN 0 NOT IN (open, high, low, close) AND low > least(open, high, close) THEN 'low is not the lowest' END,
      CASE WHEN volume < 0 OR amount < 0 THEN 'negative volume or amount' END,
      CASE WHEN volume = 0 AND amount > 0 THEN 'amount without volume' END
    ], lambda rule: rule IS NOT NULL) AS rules
  FROM bars
  -- Most bars are sound, and are left out before a list is made. A bar remains if a comparison is unknown.
  WHERE (
    low > 0 AND low <= open AND low <= close AND high >= open AND high >= close AND high < 1e300
    AND volume > 0 AND amount >= 0
  ) IS NOT TRUE
)
SELECT dataset, symbol, trade_date, "timestamp", unnest(rules) AS rule, open, high, low, close, volume, amount, region
FROM judged
WHERE len(rules) > 0;

COMMENT ON VIEW quality_ohlc IS 'Bars whose prices contradict one another. One row for each bar and rule that it breaks.';
COMMENT ON COLUMN quality_ohlc.dataset IS 'Table of the bar: bars_1d or bars_1m.';
COMMENT ON COLUMN quality_ohlc.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN quality_ohlc.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN quality_ohlc.timestamp IS 'The bar''s label. [UTC]';
COMMENT ON COLUMN quality_ohlc.rule IS 'What is the matter.';
COMMENT ON COLUMN quality_ohlc.open IS 'First price, unadjusted. [currency]';
COMMENT ON COLUMN quality_ohlc.high IS 'Highest price, unadjusted. [currency]';
COMMENT ON COLUMN quality_ohlc.low IS 'Lowest price, unadjusted. [currency]';
COMMENT ON COLUMN quality_ohlc.close IS 'Last price, unadjusted. [currency]';
COMMENT ON COLUMN quality_ohlc.volume IS 'Traded volume in the delivered unit. [lot shares]';
COMMENT ON COLUMN quality_ohlc.amount IS 'Traded amount; 0 with a volume above 0: the source reports none. [currency]';
COMMENT ON COLUMN quality_ohlc.region IS 'Region: CN, HK or US.';
