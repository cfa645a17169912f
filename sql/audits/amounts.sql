-- Audit: amounts
-- Severity: info
-- Symbols whose bars have volume but no amount: their source reports none, so VWAP and the check of units are not
-- available.
SELECT dataset, symbol, count(*) AS bars, min(trade_date) AS first_date, max(trade_date) AS last_date
FROM (
  SELECT 'bars_1d' AS dataset, symbol, trade_date, volume, amount FROM raw.bars_1d
  UNION ALL
  SELECT 'bars_1m', symbol, trade_date, volume, amount FROM raw.bars_1m
)
WHERE volume > 0 AND amount = 0
GROUP BY dataset, symbol
ORDER BY dataset, symbol
