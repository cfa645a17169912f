import { DAY_MS, MINUTE_MS } from "../../core/time.js";
import type { BucketUnit } from "../../market/bucket.js";
import type { Region } from "../../market/regions.js";
import { SESSION_HOURS, sessionMinutes } from "../../market/sessions.js";
import { perRegion } from "./region-sql.js";

/** The first date of the calendar unit that a date lies in; a week begins on Monday. */
export function calendarBucketSql(unit: BucketUnit, date: string): string {
  return `CAST(date_trunc('${unit}', ${date}) AS DATE)`;
}

/**
 * The end of the session bar that contains a minute bar, in milliseconds since local midnight.
 *
 * Each part of the session has its own grid, which starts at the opening of the part; the last bar ends with the part.
 * A minute before a part, or after the last part, belongs to the bar of the extended grid that covers it. The bar of
 * the opening auction, labelled with the opening itself, belongs to the first bar.
 *
 * @param local SQL of the bar's own label: milliseconds since local midnight.
 * @param step SQL of the length of the bars, in milliseconds.
 */
export function sessionBarEndSql(region: string, local: string, step: string): string {
  return perRegion(region, (facts) => barEndSql(facts.region, local, step));
}

function barEndSql(region: Region, local: string, step: string): string {
  const { parts, barsPerDay } = SESSION_HOURS[region];
  const hasAuction = barsPerDay > sessionMinutes(region);
  const stepsAfter = (start: number): string => `(${local} - ${start} + (${step} - 1)) // ${step}`;
  const cases = parts.map(([open, close]) => {
    const [first, last] = [open * MINUTE_MS, close * MINUTE_MS];
    const before = `${first} - ((${first} - ${local}) // ${step}) * ${step}`;
    const within = `least(${last}, ${first} + greatest(${stepsAfter(first)}, 1) * ${step})`;
    return `WHEN ${local} ${hasAuction ? "<" : "<="} ${first} THEN ${before} WHEN ${local} <= ${last} THEN ${within}`;
  });
  const anchor = (parts.at(-1) as readonly [number, number])[0] * MINUTE_MS;
  return `CASE ${cases.join(" ")} ELSE least(${DAY_MS}, ${anchor} + (${stepsAfter(anchor)}) * ${step}) END`;
}
