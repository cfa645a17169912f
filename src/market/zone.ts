import { DAY_MS, dateOfEpochDay, epochDay, MINUTE_MS, type TradingDate } from "../core/time.js";
import { offsetMs } from "./zone-offset.js";

/** The calendar date that a clock in `zone` shows at an instant (epoch milliseconds). */
export function localDate(ms: number, zone: string): TradingDate {
  return dateOfEpochDay(localDay(ms, zone));
}

/** As {@link localDate}, in days since 1970-01-01. */
export function localDay(ms: number, zone: string): number {
  return Math.floor((ms + offsetMs(zone, ms)) / DAY_MS);
}

/**
 * The instant (epoch milliseconds) at which a clock in `zone` shows a date and a time of day.
 *
 * A time that is skipped by a change of clocks is interpreted as if the clocks had not changed yet: 02:30 becomes
 * 03:30.
 */
export function instantOf(date: TradingDate, zone: string, minuteOfDay = 0): number {
  return instantOfDay(epochDay(date), zone, minuteOfDay);
}

/** As {@link instantOf}, for a number of days since 1970-01-01. */
export function instantOfDay(day: number, zone: string, minuteOfDay = 0): number {
  const wall = day * DAY_MS + minuteOfDay * MINUTE_MS;
  const guess = wall - offsetMs(zone, wall);
  const instant = wall - offsetMs(zone, guess);
  const skipped = offsetMs(zone, instant) !== offsetMs(zone, guess);
  return skipped ? Math.max(guess, instant) : instant;
}
