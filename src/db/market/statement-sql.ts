/**
 * A SELECT of the versions of statements, each with the date `known_from` from which it counts, in a form that DuckDB and
 * Trino both read.
 *
 * - The first version seen of an announcement counts from its announcement on.
 * - A later one, or one without an announcement, counts from the date on which the lake first saw it.
 * - A version replaces those of its period that were seen before it, whatever their announcement: where one of these counts
 *   from a later date, it counts again, in a row of its own, from when it was seen; one that would have counted only
 *   after that never does.
 *
 * On a date the version of a period counts whose `known_from` is the latest by then; of several, the one that was seen
 * last, then the one that was announced last. Only periods that were seen more than once, which are few, go through the
 * windows. @param localDate SQL of the date of an instant in the exchange's zone.
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

/** How much nearer each other quarters, and half-years, must be than the values as reported: ratios of greatest to least. */
const NEARER = { quarters: 1.5, halves: 1.25 };

/** A flow of five periods: of the period itself, and of those 3, 6, 9 and 12 months before it. */
type Flows = readonly [flow: string, ago3: string, ago6: string, ago9: string, ago12: string];

/**
 * The quarter of the fiscal year at whose end a period ends, 1 to 4; null where its flows do not show it. The flow is
 * never negative, such as revenue.
 *
 * Reports of mainland China cumulate from 1 January, as the law requires. Elsewhere a flow that cumulates falls once in
 * five quarters, where a year begins; four that rise are a year. As flows of quarters alone may do the same, the quarters
 * that would follow must be nearer each other than the values are. Of half-yearly reports three half-years are compared.
 */
export function fiscalQuarterSql(region: string, month: string, ...flows: Flows): string {
  const [flow, ago3, ago6, ago9, ago12] = flows;
  const quarters = [flow, ago3, ago6, ago9, `coalesce(${ago12}, ${flow})`];
  const halves = [flow, ago6, ago12];
  return `CASE
    WHEN ${region} = 'CN' THEN CASE WHEN month(${month}) % 3 = 0 THEN CAST(month(${month}) // 3 AS INTEGER) END
    WHEN ${cumulatesSql(quarters, NEARER.quarters)}
    THEN CASE WHEN ${flow} < ${ago3} THEN 1 WHEN ${ago3} < ${ago6} THEN 2 WHEN ${ago6} < ${ago9} THEN 3 ELSE 4 END
    WHEN ${ago3} IS NULL AND ${ago9} IS NULL AND ${cumulatesSql(halves, NEARER.halves)}
    THEN CASE WHEN ${flow} < ${ago6} THEN 2 ELSE 4 END END`.replaceAll(/\s+/g, " ");
}

/** Whether values, the newest first, are known and of a flow that cumulates over a year. */
function cumulatesSql(values: readonly string[], nearer: number): string {
  const steps = values.slice(1).map((before, at) => [values[at] as string, before] as const);
  const falls = steps.map(([after, before]) => `CAST(${after} < ${before} AS INTEGER)`).join(" + ");
  const added = steps
    .map(([after, before]) => `CASE WHEN ${after} < ${before} THEN ${after} ELSE ${after} - ${before} END`)
    .join(", ");
  const all = values.join(", ");
  const given = values.map((value) => `${value} > 0`).join(" AND ");
  return `${given} AND ${falls} = 1 AND ${nearer} * greatest(${added}) * least(${all}) < least(${added}) * greatest(${all})`;
}

/**
 * The last twelve months of a flow that cumulates over the fiscal year: the report + the year before - the same period
 * a year before; of a full year, the report. @param quarter {@link fiscalQuarterSql}.
 */
export function twelveMonthsSql(quarter: string, ...[flow, ago3, ago6, ago9, ago12]: Flows): string {
  return `CASE ${quarter} WHEN 4 THEN ${flow} WHEN 3 THEN ${flow} + ${ago9} - ${ago12} WHEN 2 THEN ${flow} + ${ago6} - ${ago12} WHEN 1 THEN ${flow} + ${ago3} - ${ago12} END`;
}
