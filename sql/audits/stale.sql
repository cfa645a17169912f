-- Audit: stale
-- Severity: info
-- Five daily bars or more with one and the same prices and no volume: suspended days that the source fills up.
SELECT symbol, first_date, last_date, bars, close FROM quality_stale WHERE traded = 0 ORDER BY symbol, first_date
