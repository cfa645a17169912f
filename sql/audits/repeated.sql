-- Audit: repeated
-- Severity: warning
-- Daily bars with volume that repeat themselves: five or more with the same prices, or one that equals the day before in all
-- it says, or two on one date.
SELECT symbol, first_date AS trade_date, bars || ' bars of the same prices, ' || traded || ' with volume' AS what, close
FROM quality_stale
WHERE traded >= 5
UNION ALL
SELECT symbol, trade_date, rule, close
FROM quality_duplicates
ORDER BY symbol, trade_date
