-- Audit: no_session
-- Severity: warning
-- Daily bars on a Saturday or Sunday, or on a weekday on which the region was closed, between two known sessions that
-- are at most twelve days apart. The source fills holidays, or the dates are wrong. These bars count in returns and
-- aggregates.
SELECT symbol, trade_date, strftime(trade_date, '%A') AS weekday, volume, close
FROM raw.bars_1d
-- The dates are tested, which are few, and not the bars.
WHERE (region, trade_date) IN (
  SELECT (b.region, b.trade_date)
  FROM (SELECT DISTINCT region, trade_date FROM raw.bars_1d) AS b
  ASOF LEFT JOIN trading_calendar AS d ON d.region = b.region AND b.trade_date >= d.trade_date
  WHERE isodow(b.trade_date) > 5
    OR (d.trade_date < b.trade_date AND d.next_session > b.trade_date AND d.next_session - d.trade_date <= 12)
)
ORDER BY symbol, trade_date
