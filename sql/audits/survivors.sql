-- Audit: survivors
-- Severity: info
-- This lake has survivors only: every instrument that traded at the end of a year before its first list of instruments is
-- listed to this day. Markets delist instruments, and a service names only those that are left, so that the others are missing, and
-- results over all instruments of that time are too good. Request them by name, or import their bars. Or, where in_no_list is not 0:
-- instruments traded that are in no list this lake has seen, so that datasets of a region with types lack them. Import instruments.
-- The view survivors has all years.
SELECT region, trade_date, traded, still_listed, share, in_no_list,
  CASE WHEN in_no_list > 0 THEN 'in no list' ELSE 'survivors only' END AS finding, first_list
FROM survivors
WHERE first_list IS NOT NULL AND (in_no_list > 0 OR (trade_date < first_list AND still_listed = traded))
ORDER BY region, trade_date
