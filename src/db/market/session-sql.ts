import { DAY_MS, MINUTE_MS } from "../../core/time.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { SESSION_HOURS } from "../../market/sessions.js";
import { literalList } from "../quote.js";
import { perRegion } from "./region-sql.js";

const MIDNIGHT = 1440;

/**
 * The CTE `days`: for each region and date that a wanted bar can have, `day_start`: the instant, epoch milliseconds,
 * that local times of the day count from. It is taken from the offset at noon, which holds in all trading hours, even
 * on the day of a change of clocks; and once a day, as an offset from the zone's tables is dear.
 */
export const DAYS_SQL = `days AS (
    SELECT region AS day_region, CAST(day AS DATE) AS day,
      epoch_ms(${perRegion("region", ({ zone }) => `timezone('${zone}', day + INTERVAL 12 HOUR)`)}) - ${DAY_MS / 2} AS day_start
    FROM (
      SELECT unnest(generate_series(
        date_trunc('day', min(range_start) AT TIME ZONE 'UTC') - INTERVAL 1 DAY,
        max(range_end) AT TIME ZONE 'UTC' + INTERVAL 1 DAY, INTERVAL 1 DAY)) AS day
      FROM wanted)
    CROSS JOIN (SELECT unnest(${literalList(Object.keys(REGIONS))}) AS region))`;

/**
 * The label of the bar that a minute bar goes into: milliseconds since local midnight.
 *
 * Each part of the session has a grid of its own, anchored at its opening, and its last bar ends with it. A minute
 * before a part, or after the last, goes to the bar whose end on that grid covers it; the opening auction's bar,
 * labelled with the opening itself, goes into the first bar.
 *
 * @param local SQL of the bar's own label: milliseconds since `day_start` of {@link DAYS_SQL}.
 */
export function labelSql(local: string, minutes: number): string {
  return perRegion("region", ({ region }) => sessionLabelSql(region, local, minutes));
}

function sessionLabelSql(region: Region, local: string, minutes: number): string {
  const { parts, barsPerDay } = SESSION_HOURS[region];
  const sessionMinutes = parts.reduce((sum, [open, close]) => sum + close - open, 0);
  const hasAuction = barsPerDay > sessionMinutes;
  const step = minutes * MINUTE_MS;
  const cases = parts.map(([open, close]) => {
    const [first, last] = [open * MINUTE_MS, close * MINUTE_MS];
    const before = `${first} - ((${first} - ${local}) // ${step}) * ${step}`;
    const within = `least(${last}, ${first} + greatest((${local} - ${first} + ${step - 1}) // ${step}, 1) * ${step})`;
    return `WHEN ${local} ${hasAuction ? "<" : "<="} ${first} THEN ${before} WHEN ${local} <= ${last} THEN ${within}`;
  });
  const anchor = (parts.at(-1) as readonly [number, number])[0] * MINUTE_MS;
  const after = `least(${MIDNIGHT * MINUTE_MS}, ${anchor} + ((${local} - ${anchor} + ${step - 1}) // ${step}) * ${step})`;
  return `CASE ${cases.join(" ")} ELSE ${after} END`;
}
