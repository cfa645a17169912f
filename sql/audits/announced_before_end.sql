-- Audit: announced_before_end
-- Severity: error
-- A statement cannot be announced before its period ends: its date is wrong, and a backtest would use it too early.
SELECT dataset, symbol, period_end, announce_date
FROM (
  SELECT 'balance_sheet' AS dataset, symbol, period_end, announce_date FROM raw.balance_sheet
  UNION ALL
  SELECT 'cash_flow', symbol, period_end, announce_date FROM raw.cash_flow
  UNION ALL
  SELECT 'income', symbol, period_end, announce_date FROM raw.income
  UNION ALL
  SELECT 'metrics', symbol, period_end, announce_date FROM raw.metrics
  UNION ALL
  SELECT 'shares', symbol, period_end, announce_date FROM raw.shares
)
WHERE announce_date < period_end
ORDER BY dataset, symbol, period_end
