-- Audit: tiny_amounts
-- Severity: warning
-- An amount above 0 and below a hundredth of a currency unit: a number that was read with the wrong format.
SELECT dataset, symbol, "timestamp", volume, amount
FROM (
  SELECT 'bars_1d' AS dataset, symbol, "timestamp", volume, amount FROM raw.bars_1d
  UNION ALL
  SELECT 'bars_1m', symbol, "timestamp", volume, amount FROM raw.bars_1m
)
WHERE amount > 0 AND amount < 0.01
ORDER BY symbol, "timestamp"
