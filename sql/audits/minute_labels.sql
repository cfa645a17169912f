-- Audit: minute_labels
-- Severity: warning
-- Minute bars in CN and HK that are labelled within the midday break: a last bar of the morning that bears the afternoon's opening
-- goes into the wrong hour of an aggregate.
SELECT symbol, trade_date, "timestamp", volume
FROM (
  SELECT symbol, trade_date, "timestamp", volume, region,
    CAST(timezone('UTC', "timestamp") + INTERVAL 8 HOUR AS TIME) AS local_time
  FROM raw.bars_1m
  WHERE region IN ('CN', 'HK')
)
WHERE local_time > CASE region WHEN 'CN' THEN TIME '11:30' ELSE TIME '12:00' END AND local_time <= TIME '13:00'
ORDER BY symbol, "timestamp"
