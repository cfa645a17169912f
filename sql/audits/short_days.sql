-- Audit: short_days
-- Severity: warning
-- Days in CN and HK with fewer minutes than the session has: a feed left out minutes, or began too late.
SELECT symbol, first_date, last_date, sessions, missing_minutes
FROM quality_gaps
WHERE kind = 'minutes'
ORDER BY symbol, first_date
