-- Audit: impossible_bars
-- Severity: warning
-- Bars that no longer land: of the future, of a year before 1900, daily bars that are not at local midnight, and numbers
-- that are none (NaN, infinite). An earlier version, or another program, wrote them. What is of the future counts in no
-- "latest day"; delete the bars, and request or import their days again.
SELECT dataset, symbol, what, count(*) AS bars, min(trade_date) AS first_date, max(trade_date) AS last_date
FROM (
  SELECT dataset, symbol, trade_date, unnest(list_filter([
      CASE WHEN is_future THEN 'in the future' END,
      CASE WHEN trade_date < DATE '1900-01-01' THEN 'before 1900' END,
      CASE WHEN is_off_midnight THEN 'not at midnight' END,
      CASE WHEN NOT isfinite(numbers) THEN 'not a number' END
    ], lambda one: one IS NOT NULL)) AS what
  FROM (
    SELECT 'bars_1d' AS dataset, symbol, trade_date, trade_date >= CAST(timezone('UTC', now()) AS DATE) AND trade_date > local_date(now(), region) AS is_future,
      epoch_ms("timestamp") <> local_midnight(trade_date, region) AS is_off_midnight,
      open + high + low + close + amount + coalesce(prev_close, 0) + coalesce(open_interest, 0)
        + coalesce(settlement_price, 0) AS numbers
    FROM raw.bars_1d
    UNION ALL
    SELECT 'bars_1m', symbol, trade_date, "timestamp" > now() + INTERVAL 6 MINUTE, false,
      open + high + low + close + amount + coalesce(prev_close, 0) + coalesce(open_interest, 0)
        + coalesce(settlement_price, 0)
    FROM raw.bars_1m
  )
  -- Most bars are possible, and are left out before a list is made.
  WHERE is_future OR is_off_midnight OR trade_date < DATE '1900-01-01' OR NOT isfinite(numbers)
)
GROUP BY dataset, symbol, what
ORDER BY dataset, symbol, what
