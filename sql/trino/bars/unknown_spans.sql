-- Stretches of days on which a region may or may not have traded, as far as the lake knows. See
-- sql/views/bars/unknown_spans.sql.
-- Grain: one row for each region and stretch. Inputs: raw.trading_days.
CREATE OR REPLACE VIEW unknown_spans AS
SELECT region, trade_date AS after_date, next_date AS before_date
FROM (
  SELECT region, trade_date, lead(trade_date) OVER (PARTITION BY region ORDER BY trade_date) AS next_date
  FROM raw.trading_days
)
WHERE next_date IS NULL OR is_unknown_stretch(trade_date, next_date)
UNION ALL
SELECT r.region, CAST(NULL AS DATE), d.first_date
FROM (VALUES 'CN', 'HK', 'US') AS r (region)
LEFT JOIN (SELECT region, min(trade_date) AS first_date FROM raw.trading_days GROUP BY region) AS d ON d.region = r.region;

COMMENT ON VIEW unknown_spans IS 'Stretches of days of which the lake does not know whether a region traded. One row for each region and stretch.';
