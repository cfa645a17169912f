-- Audit: ohlc
-- Severity: warning
-- The prices of a bar contradict one another: one price is 0 and others are not, the high is not the highest, or the
-- low is not the lowest. Aggregates read a price of 0 as "none". Request these bars again, or leave them out.
SELECT * EXCLUDE (region) FROM quality_ohlc ORDER BY symbol, "timestamp", rule
