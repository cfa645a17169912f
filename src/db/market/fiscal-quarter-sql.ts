/** How much nearer each other quarters, and half-years, must be than the values as reported: ratios of greatest to least. */
const NEARER = { quarters: 1.5, halves: 1.25 };

/** A flow of five periods: of the period itself, and of those 3, 6, 9 and 12 months before it. */
type Flows = readonly [flow: string, ago3: string, ago6: string, ago9: string, ago12: string];

/**
 * The quarter of the fiscal year at whose end a period ends, 1 to 4; null where its flows do not show it.
 *
 * Reports of mainland China cumulate from 1 January, as the law requires. Elsewhere a flow that cumulates falls once in
 * five quarters, where a year begins; four that rise are a year. As flows of quarters alone may do the same, the quarters
 * that would follow must be nearer each other than the values are. Of half-yearly reports three half-years are compared.
 *
 * @param flows of a flow that is never negative, such as revenue; null where a period is not known.
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
 * a year before; of a full year, the report.
 *
 * @param quarter of the fiscal year: {@link fiscalQuarterSql}.
 */
export function twelveMonthsSql(quarter: string, ...[flow, ago3, ago6, ago9, ago12]: Flows): string {
  return `CASE ${quarter} WHEN 4 THEN ${flow} WHEN 3 THEN ${flow} + ${ago9} - ${ago12} WHEN 2 THEN ${flow} + ${ago6} - ${ago12} WHEN 1 THEN ${flow} + ${ago3} - ${ago12} END`;
}
