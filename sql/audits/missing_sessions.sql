-- Audit: missing_sessions
-- Severity: warning
-- Whole sessions are missing from minute bars between a symbol's first day and its last: the source lacks files, or the days were
-- never asked for. Longer stretches than 20 sessions are left to
-- quality_gaps: they are most likely not meant to be there.
SELECT symbol, first_date, last_date, sessions
FROM quality_gaps
WHERE dataset = 'bars_1m' AND kind = 'session' AND sessions <= 20
ORDER BY symbol, first_date
