import { DAY_MS, MINUTE_MS } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import { SESSION_HOURS, sessionMinutes } from "../../market/sessions.js";
import { literal } from "../quote.js";
import { perRegion } from "./region-sql.js";

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

/** Whether a bar that ends at a local time of day is a minute of the session; the bar of the auction is not. */
export function isSessionMinuteSql(region: string, time: string): string {
  return perRegion(region, (facts) => {
    const parts = SESSION_HOURS[facts.region].parts.map(
      ([open, close]) => `(${time} > ${timeSql(open)} AND ${time} <= ${timeSql(close)})`,
    );
    return `(${parts.join(" OR ")})`;
  });
}

/** How many minutes a region's session has, without its auctions. */
export function sessionMinutesSql(region: string): string {
  return perRegion(region, (facts) => String(sessionMinutes(facts.region)));
}

function timeSql(minute: number): string {
  const [hours, minutes] = [Math.floor(minute / 60), minute % 60].map((part) =>
    String(part).padStart(2, "0"),
  );
  return `TIME ${literal(`${hours}:${minutes}`)}`;
}
