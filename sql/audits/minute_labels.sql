-- Audit: minute_labels
-- Severity: warning
-- Minute bars in CN and HK that are labelled within the midday break. If the last bar of the morning is labelled with
-- the afternoon's opening, aggregation puts it into the wrong hour.
SELECT symbol, trade_date, "timestamp", volume
FROM (
  SELECT symbol, trade_date, "timestamp", volume, region,
    CAST(timezone('UTC', "timestamp") + INTERVAL 8 HOUR AS TIME) AS local_time
  FROM raw.bars_1m
  WHERE region IN ('CN', 'HK')
)
WHERE local_time > CASE region WHEN 'CN' THEN TIME '11:30' ELSE TIME '12:00' END AND local_time <= TIME '13:00'
ORDER BY symbol, "timestamp"
