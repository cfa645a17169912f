-- Audit: missing_sessions
-- Severity: warning
-- Whole sessions are missing from minute bars between a symbol's first day and its last: the source lacks files, or the
-- days were never requested. Stretches of more than 20 sessions are shown only by quality_gaps: they are probably
-- missing on purpose.
SELECT symbol, first_date, last_date, sessions
FROM quality_gaps
WHERE dataset = 'bars_1m' AND kind = 'session' AND sessions <= 20
ORDER BY symbol, first_date
