-- Members of universes, with the dates between which they were known to be members. See
-- sql/views/reference/members.sql, whose parameters are columns here. The members of a universe at the end of a day:
--   SELECT symbol FROM members WHERE id = 'CSI300' AND from_date <= DATE '2024-06-28' AND to_date > DATE '2024-06-28'
-- Grain: one row for each universe, symbol and stretch of dates; the stretches of a symbol do not overlap.
-- Inputs: raw.universe_members.
CREATE OR REPLACE VIEW members AS
WITH spells AS (
  SELECT id, symbol, region, source,
    local_date(valid_from, region) AS seen_from,
    local_date(valid_to, region) AS seen_to,
    valid_from = min(valid_from) OVER (PARTITION BY id) AS is_first
  FROM raw.universe_members
),
lasting AS (
  SELECT * FROM spells WHERE seen_to IS NULL OR seen_from < seen_to
)
SELECT id, symbol, CASE WHEN source IS NULL THEN 'observed' ELSE 'imported' END AS known, seen_from AS from_date, coalesce(seen_to, DATE '9999-12-31') AS to_date,
  seen_from, seen_to, region, source
FROM lasting
UNION ALL
SELECT id, symbol, 'assumed', DATE '0001-01-01', seen_from, seen_from, seen_to, region, source
FROM lasting
WHERE is_first;

COMMENT ON VIEW members IS 'Members of universes and the dates on which they were known to be: from_date inclusive, to_date exclusive (9999-12-31: still). known: observed (or imported), or assumed for the time before. One row for each universe, symbol and stretch of dates.';
