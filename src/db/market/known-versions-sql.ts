/**
 * A SELECT of the versions of statements, each with the date `known_from` from which it counts. It has the form that
 * DuckDB and Trino both read.
 *
 * - The first version seen of an announcement counts from its announcement on.
 * - A later one, or one without an announcement, counts from the date on which the lake first saw it.
 * - A version replaces those of its period that were seen before it, whatever their announcement: where one of these counts
 *   from a later date, it counts again, in a row of its own, from when it was seen; one that would have counted only
 *   after that never does.
 *
 * On a date the version of a period counts whose `known_from` is the latest by then; of several, the one that was seen
 * last, then the one that was announced last.
 *
 * Only the versions of periods that were seen more than once go through the windows: nearly all were seen once.
 *
 * @param statements SQL of a relation with all versions.
 * @param localDate SQL of the date of an instant in the exchange's zone.
 */
export function knownVersionsSql(
  statements: string,
  localDate: (instant: string, region: string) => string,
): string {
  return `SELECT s.*,
  CASE WHEN v.symbol IS NULL THEN coalesce(s.announce_date, ${localDate("s.first_seen_at", "s.region")}) ELSE v.known_from END
    AS known_from
FROM ${statements} AS s
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
        SELECT symbol, period_end, announce_date, first_seen_at, ${localDate("first_seen_at", "region")} AS seen,
          min(first_seen_at) OVER (PARTITION BY symbol, period_end, announce_date) AS first_of_announcement
        FROM ${statements} AS a
        JOIN (
          SELECT symbol, period_end FROM ${statements} AS b GROUP BY symbol, period_end
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
WHERE v.symbol IS NULL OR v.known_from IS NOT NULL`;
}
