-- Audit: ohlc
-- Severity: warning
-- Prices of a bar contradict one another: a price of 0 among others, a high that is not the highest, a low that is not the
-- lowest. Aggregates read a price of 0 as "none"; ask the source again, or leave these bars out.
SELECT * EXCLUDE (region) FROM quality_ohlc ORDER BY symbol, "timestamp", rule
