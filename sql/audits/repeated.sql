-- Audit: repeated
-- Severity: warning
-- Daily bars with volume that are repeated: five or more with the same prices, or one whose prices, volume and amount
-- equal those of the day before, or two on one date.
SELECT symbol, first_date AS trade_date, bars || ' bars of the same prices, ' || traded || ' with volume' AS what, close
FROM quality_stale
WHERE traded >= 5
UNION ALL
SELECT symbol, trade_date, rule, close
FROM quality_duplicates
ORDER BY symbol, trade_date
