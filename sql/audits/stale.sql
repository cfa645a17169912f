-- Audit: stale
-- Severity: info
-- Five or more consecutive daily bars with the same prices and no volume: the source fills the days of a suspension.
SELECT symbol, first_date, last_date, bars, close FROM quality_stale WHERE traded = 0 ORDER BY symbol, first_date
