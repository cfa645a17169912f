-- Audit: no_session
-- Severity: warning
-- Daily bars on a Saturday or Sunday, or on a weekday of a closure: between two known sessions at most twelve days apart.
-- Filled-up holidays, or wrong dates. They count as bars in returns and aggregates.
SELECT b.symbol, b.trade_date, strftime(b.trade_date, '%A') AS weekday, b.volume, b.close
FROM raw.bars_1d AS b
ASOF LEFT JOIN trading_calendar AS d ON d.region = b.region AND b.trade_date >= d.trade_date
WHERE isodow(b.trade_date) > 5
  OR (d.trade_date < b.trade_date AND d.next_session > b.trade_date AND d.next_session - d.trade_date <= 12)
ORDER BY b.symbol, b.trade_date
