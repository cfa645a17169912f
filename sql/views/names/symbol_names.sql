-- Which stored symbols make the one history of a name, as of a date: the stretches of symbols that one instrument had,
-- found through its changes (A to B, B to C), whichever of them is asked for. A code that was given to another company is
-- cut there: the name is of the one that had it last by as_of. A change counts from its date on. Where sources give
-- several dates or new symbols for one change, the one that this lake saw first counts; mergers and delistings end no
-- name. A newer symbol stands in on days of an older one, with a later preference, because some sources give the past
-- under the newest symbol: unless a change says that it was another's before. There are no circles: each link leads to
-- a later date.
-- Grain: one row for each name, symbol and stretch; a name without renames has none. Inputs: raw.symbol_changes.
CREATE OR REPLACE MACRO symbol_names(as_of := NULL) AS TABLE
WITH RECURSIVE facts AS MATERIALIZED (
  SELECT symbol, from_date, kind, CASE WHEN kind IN ('rename', 'reuse') THEN new_symbol END AS new_symbol, until_date, first_seen_at, source
  FROM raw.symbol_changes
  WHERE from_date <= coalesce(CAST(as_of AS DATE), DATE '9999-12-30')
),
-- A symbol becomes the same one again only after it came back: another source gives another date of one change.
changes AS MATERIALIZED (
  SELECT symbol, from_date, new_symbol, until_date, first_seen_at, source,
    bool_or(kind = 'reuse') OVER (PARTITION BY symbol, from_date) AS is_reused
  FROM facts AS f
  WHERE kind IN ('rename', 'reuse') AND NOT EXISTS (
    FROM facts AS g
    WHERE g.symbol = f.symbol AND g.new_symbol = f.new_symbol AND g.from_date <> f.from_date AND g.source <> f.source
      AND (g.first_seen_at, g.source) < (f.first_seen_at, f.source) AND NOT EXISTS (
        FROM facts AS back
        WHERE back.new_symbol = f.symbol
          AND back.from_date > least(f.from_date, g.from_date) AND back.from_date <= greatest(f.from_date, g.from_date)))
  QUALIFY row_number() OVER (PARTITION BY symbol, from_date ORDER BY new_symbol IS NULL, first_seen_at, source) = 1
),
starts AS (
  SELECT symbol, start_date, arg_min(old_symbol, (first_seen_at, source, old_symbol)) AS old_symbol
  FROM (
    SELECT new_symbol AS symbol, from_date AS start_date, symbol AS old_symbol, first_seen_at, source FROM changes
    WHERE new_symbol IS NOT NULL
    UNION ALL
    SELECT symbol, from_date, NULL, first_seen_at, source FROM changes WHERE is_reused
    UNION ALL
    SELECT unnest([symbol, new_symbol]), DATE '0001-01-01', NULL, NULL, NULL FROM changes
  )
  WHERE symbol IS NOT NULL
  GROUP BY symbol, start_date
),
ends AS (
  SELECT symbol, from_date AS end_date FROM changes
  UNION
  SELECT new_symbol, until_date FROM changes AS c
  WHERE until_date <= coalesce(CAST(as_of AS DATE), DATE '9999-12-30')
    AND NOT EXISTS (FROM changes AS later WHERE later.symbol = c.new_symbol AND later.from_date >= c.from_date)
),
-- The stretches of days that one instrument had a symbol.
holds AS MATERIALIZED (
  SELECT symbol, start_date, old_symbol,
    least(coalesce(lead(start_date) OVER of_symbol, DATE '9999-12-31'), coalesce(
      (SELECT min(end_date) FROM ends WHERE ends.symbol = starts.symbol AND end_date > start_date), DATE '9999-12-31')) AS end_date,
    start_date = min(start_date) FILTER (start_date > DATE '0001-01-01') OVER (PARTITION BY symbol) AND NOT EXISTS (
      FROM facts WHERE facts.symbol = starts.symbol AND facts.from_date <= starts.start_date) AS stands_in
  FROM starts
  WINDOW of_symbol AS (PARTITION BY symbol ORDER BY start_date)
),
links AS MATERIALIZED (
  SELECT h.symbol, h.start_date, h.end_date, h.stands_in, o.symbol AS old_symbol, o.start_date AS old_start
  FROM holds AS h
  LEFT JOIN holds AS o ON o.symbol = h.old_symbol AND o.start_date < h.start_date AND o.end_date = h.start_date
),
chains AS (
  SELECT symbol AS first_symbol, start_date AS first_start, 1 AS nth, symbol, start_date, end_date, stands_in
  FROM links WHERE old_symbol IS NULL
  UNION ALL
  SELECT c.first_symbol, c.first_start, c.nth + 1, l.symbol, l.start_date, l.end_date, l.stands_in
  FROM chains AS c JOIN links AS l ON l.old_symbol = c.symbol AND l.old_start = c.start_date
)
SELECT name, later.symbol AS symbol, own.start_date, own.end_date, later.nth - own.nth + 1 AS preference
FROM (
  SELECT symbol AS name, arg_max(first_symbol, start_date) AS first_symbol, arg_max(first_start, start_date) AS first_start
  FROM chains GROUP BY symbol
)
JOIN chains AS own USING (first_symbol, first_start)
JOIN chains AS later ON later.first_symbol = own.first_symbol AND later.first_start = own.first_start
  AND (later.nth = own.nth OR (later.nth > own.nth AND later.stands_in));

COMMENT ON MACRO TABLE symbol_names IS 'Which stored symbols make the one history of a name as of a date, through renames and up to where a code was given to another company. One row for each name, symbol and stretch; a name that no rename or reuse is about has none.
as_of: Date in the exchange''s own zone: later changes are not known; null: all changes of the lake. [date]
-> name: Symbol that is asked for.
-> symbol: Stored symbol.
-> start_date: First day of the stretch; 0001-01-01 where nothing says.
-> end_date: First day after it; 9999-12-31 where nothing says.
-> preference: 1 for the symbol that was valid in the stretch; above it, a newer symbol, whose rows count on days on which those before have none.';
