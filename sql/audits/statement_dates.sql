-- Audit: statement_dates
-- Severity: info
-- Statements without an announcement date: they count as known only from the day on which this lake first saw them, so
-- a backtest of earlier days does not use them.
SELECT dataset, symbol, count(*) AS versions, min(period_end) AS first_period, max(period_end) AS last_period
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
WHERE announce_date IS NULL
GROUP BY dataset, symbol
ORDER BY dataset, symbol
