-- Audit: outliers
-- Severity: warning
-- The return of a day is extremely large compared with the 60 bars before: the source does not state a split or a bonus
-- issue in prev_close, or a price is wrong. Prices of these symbols can be adjusted only with ex-events from another
-- source.
SELECT * EXCLUDE (region) FROM quality_outliers ORDER BY abs(simple_return) DESC, symbol, trade_date
