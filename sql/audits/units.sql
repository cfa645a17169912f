-- Audit: units
-- Severity: warning
-- amount / (volume x lot) lies outside of the bar's low to high: volume or amount is in another unit, or wrong. A ratio near 100
-- or 0.01 shows shares taken for lots, or the other way; an index's volume and amount are its members', and never fit.
SELECT * EXCLUDE (region, lot) FROM quality_units ORDER BY symbol, "timestamp"
