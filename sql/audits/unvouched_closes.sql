-- Audit: unvouched_closes
-- Severity: warning
-- Previous closes that differ from the close of the bar before, and cash that was paid, while nobody vouches for the sessions
-- in between: they were not requested, or their bars were set aside. Prices are not adjusted by them: one bar too few would look
-- like a dividend, four months like a split, and the close that the cash was paid from is not known. Request or import the
-- missing days; of a code that another company had before, nothing is missing.
SELECT r.symbol, r.trade_date, r.last_date, count(d.trade_date) AS sessions_between, r.last_close, r.prev_close,
  r.last_close / r.prev_close AS factor
FROM restated_closes AS r
LEFT JOIN ex_events AS e ON e.symbol = r.symbol AND e.ex_date = r.trade_date
LEFT JOIN raw.trading_days AS d ON d.region = r.region AND d.trade_date > r.last_date AND d.trade_date < r.trade_date
WHERE has_hole AND (e.symbol IS NULL OR EXISTS (
  FROM ex_terms() AS t
  WHERE t.priority = 1 AND t.paid <> 0 AND t.symbol = r.symbol AND t.ex_date > r.last_date AND t.ex_date <= r.trade_date))
GROUP BY ALL
ORDER BY r.symbol, r.trade_date
