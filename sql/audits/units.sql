-- Audit: units
-- Severity: warning
-- amount / (volume x lot) is not between the bar's low and high: volume or amount is in another unit, or wrong. A ratio
-- near 100 or 0.01 means that shares were read as lots, or the other way round. The volume and amount of an index are
-- those of its members, and never fit its prices.
SELECT * EXCLUDE (region, lot) FROM quality_units ORDER BY symbol, "timestamp"
