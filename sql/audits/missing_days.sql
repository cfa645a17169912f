-- Audit: missing_days
-- Severity: info
-- Daily bars lack sessions between a symbol's first bar and its last: either a suspension, if the source delivers no
-- bars for these, or a gap. daily_status shows such a session as suspended.
SELECT symbol, first_date, last_date, sessions
FROM quality_gaps
WHERE dataset = 'bars_1d'
ORDER BY symbol, first_date
