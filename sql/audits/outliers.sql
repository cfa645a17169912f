-- Audit: outliers
-- Severity: warning
-- A day's return is out of all proportion to the 60 bars before: a split or a bonus that the source does not state in prev_close,
-- or a wrong price. Prices of these symbols need ex-events from elsewhere before they can be adjusted.
SELECT * EXCLUDE (region) FROM quality_outliers ORDER BY abs(simple_return) DESC, symbol, trade_date
