-- Audit: ex_witnesses
-- Severity: warning
-- Ex-events whose witnesses differ by more than one in a thousand: factors and corporate actions of several sources, and the
-- previous close that the exchange states, where it differs from the close of the bar before. Prices are adjusted by the first
-- of each event, which is in the first columns. A source may be wrong, or may have another date or unit. A stated previous close
-- is rounded to whole cents: within half of one it does not differ.
WITH said AS (
  SELECT r.symbol, r.trade_date, t.witness, t.source, NULL::DOUBLE AS stated, r.last_close * t.shares / (r.last_close + t.paid) AS factor
  FROM restated_closes AS r
  JOIN ex_terms() AS t ON t.symbol = r.symbol AND t.ex_date > r.last_date AND t.ex_date <= r.trade_date
  WHERE NOT r.has_hole
  -- Where several ex-dates lie between two bars, their factors are those of parts.
  QUALIFY count(DISTINCT t.ex_date) OVER (PARTITION BY r.symbol, r.trade_date) = 1
  UNION ALL
  SELECT symbol, trade_date, 'prev_close', NULL, prev_close, last_close / prev_close
  FROM restated_closes
  WHERE NOT has_hole AND is_ex_event(last_close, prev_close)
)
SELECT e.symbol, e.ex_date, e.witness, e.source, e.factor, o.witness AS other_witness, o.source AS other_source,
  o.factor AS other_factor
FROM ex_events AS e
JOIN said AS o ON o.symbol = e.symbol AND o.trade_date = e.ex_date
WHERE abs(o.factor / e.factor - 1) > 1e-3 AND (o.stated IS NULL OR abs(o.stated - e.last_close / e.factor) > 0.00500001)
ORDER BY e.symbol, e.ex_date, other_witness, other_source
