-- Daily bars that are repeated: two bars of one trading date with different labels, and a bar with volume whose prices,
-- volume and amount all equal those of the day before.
-- Grain: one row for each symbol, trading date and rule. Inputs: raw.bars_1d, in which no two rows have the same key,
-- because a landing replaces the earlier row.
CREATE OR REPLACE VIEW quality_duplicates AS
SELECT symbol, trade_date, 'two bars on a date' AS rule, count(*) AS bars, min(close) AS close, region
FROM raw.bars_1d
GROUP BY symbol, trade_date, region
HAVING count(*) > 1
UNION ALL
SELECT symbol, trade_date, 'the day before again', 2, close, region
FROM (
  SELECT symbol, trade_date, close, volume, region,
    (open, high, low, close, volume, amount) IS NOT DISTINCT FROM lag((open, high, low, close, volume, amount)) OVER (
      PARTITION BY symbol ORDER BY "timestamp") AS is_repeat
  FROM raw.bars_1d
)
WHERE is_repeat AND volume > 0;

COMMENT ON VIEW quality_duplicates IS 'Daily bars that say one thing twice. One row for each symbol, trading date and rule.';
COMMENT ON COLUMN quality_duplicates.symbol IS 'Instrument symbol.';
COMMENT ON COLUMN quality_duplicates.trade_date IS 'Trading date in the exchange''s own zone.';
COMMENT ON COLUMN quality_duplicates.rule IS 'two bars on a date; the day before again: prices, volume and amount are all equal, and something traded.';
COMMENT ON COLUMN quality_duplicates.bars IS 'Bars that are alike. [bars]';
COMMENT ON COLUMN quality_duplicates.close IS 'Their close. [currency]';
COMMENT ON COLUMN quality_duplicates.region IS 'Region: CN, HK or US.';
