-- Stretches of days on which a region may or may not have traded, as far as the lake knows: before its first known
-- trading day, after the newest one, and in gaps that are too long for a holiday.
-- Grain: one row for each region and stretch. Inputs: raw.trading_days, is_unknown_stretch.
CREATE OR REPLACE VIEW unknown_spans AS
SELECT region, after_date, before_date
FROM (
  SELECT region, trade_date AS after_date,
    lead(trade_date) OVER (PARTITION BY region ORDER BY trade_date NULLS FIRST) AS before_date
  FROM (
    SELECT region, trade_date FROM raw.trading_days
    UNION ALL
    VALUES ('CN', CAST(NULL AS DATE)), ('HK', NULL), ('US', NULL)
  )
)
WHERE after_date IS NULL OR before_date IS NULL OR is_unknown_stretch(after_date, before_date);

COMMENT ON VIEW unknown_spans IS 'Stretches of days of which the lake does not know whether a region traded. One row for each region and stretch. Rows change with each new trading day.';
COMMENT ON COLUMN unknown_spans.region IS 'Region: CN, HK or US.';
COMMENT ON COLUMN unknown_spans.after_date IS 'Known trading day before the stretch; null: none is known.';
COMMENT ON COLUMN unknown_spans.before_date IS 'Known trading day after the stretch; null: none is known.';
