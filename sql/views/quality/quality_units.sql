-- Bars whose amount and volume do not fit their prices: amount / (volume x lot) is not between low and high, even if
-- the rounding of volume and amount is considered. A ratio near 100 or 0.01 shows volume in another unit, one near 1000
-- or 10000 an amount in another unit.
-- Grain: one row for each bar. Inputs: raw.bars_1d, raw.bars_1m.
CREATE OR REPLACE VIEW quality_units AS
WITH bars AS NOT MATERIALIZED (
  SELECT 'bars_1d' AS dataset, symbol, trade_date, "timestamp", low, high, close, volume, lot, amount, region,
    0.5 * greatest(region_lot(region), lot) AS slack
  FROM raw.bars_1d
  UNION ALL
  SELECT 'bars_1m', symbol, trade_date, "timestamp", low, high, close, volume, lot, amount, region,
    0.5 * greatest(region_lot(region), lot)
  FROM raw.bars_1m
)
SELECT dataset, symbol, trade_date, "timestamp", low, high, volume, lot, amount,
  amount / shares_of(volume, lot) AS vwap,
  amount / shares_of(volume, lot) / close AS ratio,
  region
FROM bars
WHERE shares_of(volume, lot) > slack AND amount > 0 AND low > 0 AND close > 0
  AND ((amount + 0.5) / (shares_of(volume, lot) - slack) < low * (1 - 1e-6) OR (amount - 0.5) / (shares_of(volume, lot) + slack) > high * (1 + 1e-6));

COMMENT ON VIEW quality_units IS 'Bars whose amount / (volume x lot) lies outside of low to high, with half a unit of volume (of 100 shares in CN) and of currency left for rounding. One row for each bar.';
COMMENT ON COLUMN quality_units.dataset IS 'Table of the bar: bars_1d or bars_1m.';
COMMENT ON COLUMN quality_units.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN quality_units.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN quality_units.timestamp IS 'The bar''s label. [UTC]';
COMMENT ON COLUMN quality_units.low IS 'Lowest price, unadjusted. [currency]';
COMMENT ON COLUMN quality_units.high IS 'Highest price, unadjusted. [currency]';
COMMENT ON COLUMN quality_units.volume IS 'Traded volume in the delivered unit. [lot shares]';
COMMENT ON COLUMN quality_units.lot IS 'Shares in one unit of volume. [shares]';
COMMENT ON COLUMN quality_units.amount IS 'Traded amount; 0 with a volume above 0: the source reports none. [currency]';
COMMENT ON COLUMN quality_units.vwap IS 'amount / (volume * lot). [currency]';
COMMENT ON COLUMN quality_units.ratio IS 'vwap / close: near 100 or 0.01 where the volume is in another unit. [ratio]';
COMMENT ON COLUMN quality_units.region IS 'Region: CN, HK or US.';
