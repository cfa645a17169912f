-- The versions of a table of statements, each with the date from which it counts. The first version seen of an
-- announcement counts from its announcement on. A later one, or one without an announcement, counts from the date (in the
-- exchange's zone) on which this lake first saw it: nobody knew it before. On a date the version counts whose known_from
-- is the latest by then. A version that is seen after another one of its period replaces it, whatever its announcement:
-- it counts again from the date on which it was first seen if its announcement is before the other's, and one that would
-- have counted only after that date never does.
-- Grain: one row for each version and date from which it counts. Inputs: the named table.
-- It is the text of src/db/market/statement-sql.ts.
CREATE OR REPLACE MACRO known_versions(statements) AS TABLE
SELECT s.*,
  CASE WHEN v.symbol IS NULL THEN coalesce(s.announce_date, local_date(s.first_seen_at, s.region)) ELSE v.known_from END
    AS known_from
FROM query_table(statements) AS s
LEFT JOIN (
  SELECT symbol, period_end, announce_date, first_seen_at, one.known_from
  FROM (
    SELECT *,
      max(counts_from) OVER (versions GROUPS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS others_from,
      min(seen) OVER (versions GROUPS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS next_seen
    FROM (
      SELECT *, coalesce(CASE WHEN first_seen_at = first_of_announcement OR announce_date > seen THEN announce_date END, seen)
        AS counts_from
      FROM (
        SELECT symbol, period_end, announce_date, first_seen_at, local_date(first_seen_at, region) AS seen,
          min(first_seen_at) OVER (PARTITION BY symbol, period_end, announce_date) AS first_of_announcement
        FROM query_table(statements) AS a
        JOIN (
          SELECT symbol, period_end FROM query_table(statements) AS b GROUP BY symbol, period_end
          HAVING min(first_seen_at) < max(first_seen_at)
        ) AS several USING (symbol, period_end)
      ) AS seen_versions
    ) AS dated
    WINDOW versions AS (PARTITION BY symbol, period_end ORDER BY first_seen_at)
  ) AS judged
  CROSS JOIN UNNEST(CASE
    WHEN next_seen < counts_from THEN ARRAY[CAST(NULL AS DATE)]
    WHEN counts_from < seen AND others_from > counts_from THEN ARRAY[counts_from, seen]
    ELSE ARRAY[counts_from] END) AS one (known_from)
) AS v ON v.symbol = s.symbol AND v.period_end = s.period_end AND v.first_seen_at = s.first_seen_at
  AND v.announce_date IS NOT DISTINCT FROM s.announce_date
WHERE v.symbol IS NULL OR v.known_from IS NOT NULL;

COMMENT ON MACRO TABLE known_versions IS 'The versions of a table of statements with the dates from which they count: known_versions(''raw.income''). One row for each version and date from which it counts. All columns of the table, with one date. On a date the version of a period counts whose known_from is the latest by then; of several, the one that was seen last, then the one that was announced last.
statements: raw.balance_sheet, raw.cash_flow, raw.income, raw.metrics or raw.shares, as a text.
-> known_from: First date on which the version counts: its announcement; of a later version of the same announcement, and without one, the date at the exchange on which this lake first saw it. A version that replaced one with a later announcement has a second row, from when it was seen.';
