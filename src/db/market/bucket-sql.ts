import { DAY_MS, MINUTE_MS } from "../../core/time.js";
import type { BucketUnit } from "../../market/period.js";
import { REGION_NAMES, type Region, type RegionFacts } from "../../market/regions.js";
import { SESSION_HOURS, sessionMinutes } from "../../market/sessions.js";
import { literal } from "../quote.js";
import { perRegion } from "./region-sql.js";

/** The first date of the calendar unit that a date lies in; a week begins on Monday. */
export function calendarBucketSql(unit: BucketUnit, date: string): string {
  return `CAST(date_trunc('${unit}', ${date}) AS DATE)`;
}

/**
 * The opening of the part of the session on whose grid a minute bar lies, with the minutes before the part. In
 * milliseconds since local midnight, as `local`. @param regions see {@link perRegion}.
 */
export function sessionPartStartSql(region: string, local: string, regions?: readonly Region[]): string {
  const start = (facts: RegionFacts): string => {
    const { parts } = SESSION_HOURS[facts.region];
    const cases = parts.slice(0, -1).map(([open, close]) => whenUpTo(local, close, open * MINUTE_MS));
    const last = ((parts.at(-1) as SessionPart)[0] * MINUTE_MS).toString();
    return cases.length === 0 ? last : `CASE ${cases.join(" ")} ELSE ${last} END`;
  };
  return perRegion(region, start, regions);
}

/**
 * The latest end of a session bar that contains a minute bar: the close of the part of the session, and of
 * the minutes after the last part the end of the day. In milliseconds since local midnight, as `local`.
 * @param regions see {@link perRegion}.
 */
export function sessionPartEndSql(region: string, local: string, regions?: readonly Region[]): string {
  const end = (facts: RegionFacts): string => {
    const cases = SESSION_HOURS[facts.region].parts.map(([, close]) =>
      whenUpTo(local, close, close * MINUTE_MS),
    );
    return `CASE ${cases.join(" ")} ELSE ${DAY_MS} END`;
  };
  return perRegion(region, end, regions);
}

function whenUpTo(local: string, minute: number, value: number): string {
  return `WHEN ${local} <= ${minute * MINUTE_MS} THEN ${value}`;
}

/**
 * The end of the session bar that contains a minute bar, on the grid of a part of the session. The last bar ends with
 * the part. The bar of the opening auction, labelled with the opening itself, belongs to the first bar. @param start
 * {@link sessionPartStartSql}. @param regions see {@link perRegion}.
 */
export function sessionGridEndSql(
  region: string,
  local: string,
  step: string,
  start: string,
  end: string,
  regions: readonly Region[] = REGION_NAMES,
): string {
  const withoutAuction = regions
    .filter((one) => SESSION_HOURS[one].barsPerDay === sessionMinutes(one))
    .map(literal);
  const atStart = `${local} = ${start} AND ${region} IN (${withoutAuction.join(", ")})`;
  const isBefore = `${local} < ${start}${withoutAuction.length === 0 ? "" : ` OR (${atStart})`}`;
  const steps = `CASE WHEN ${isBefore} THEN (${local} - ${start}) // ${step} ELSE (${local} - ${start} - 1) // ${step} + 1 END`;
  return `least(${end}, ${start} + ${steps} * ${step})`;
}

/**
 * {@link sessionGridEndSql} of a minute bar by its label `local`, all in milliseconds since local midnight.
 * @param step length of the bars, in milliseconds.
 */
export function sessionBarEndSql(region: string, local: string, step: string): string {
  const [start, end] = [sessionPartStartSql(region, local), sessionPartEndSql(region, local)];
  return sessionGridEndSql(region, local, step, `(${start})`, `(${end})`);
}

type SessionPart = readonly [open: number, close: number];
