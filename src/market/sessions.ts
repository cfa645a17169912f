import {
  DAY_MS,
  dateOfEpochDay,
  epochDay,
  MINUTE_MS,
  type TimeRange,
  type TradingDate,
} from "../core/time.js";
import { byRegion, REGIONS, type Region } from "./regions.js";
import { instantOf, instantOfDay, localDate } from "./zone.js";

interface SessionHours {
  /** Parts of the session as local times in minutes after midnight. These are times, not labels of bars. */
  readonly parts: readonly (readonly [open: number, close: number])[];
  /** Most one-minute bars that a regular day has, including the bar of the opening auction. */
  readonly barsPerDay: number;
  /** Minutes after the close until a day's bars count as final: services publish them 1 to 2 h after the close. */
  readonly settleMinutes: number;
}

const clock = (hour: number, minute: number): number => hour * 60 + minute;

/** Regular hours as published by the exchanges. In the US a day is final only after the extended hours. */
export const SESSION_HOURS: Readonly<Record<Region, SessionHours>> = {
  CN: {
    parts: [
      [clock(9, 30), clock(11, 30)],
      [clock(13, 0), clock(15, 0)],
    ],
    barsPerDay: 241,
    settleMinutes: 120,
  },
  HK: {
    parts: [
      [clock(9, 30), clock(12, 0)],
      [clock(13, 0), clock(16, 0)],
    ],
    barsPerDay: 331,
    settleMinutes: 120,
  },
  US: { parts: [[clock(9, 30), clock(16, 0)]], barsPerDay: 390, settleMinutes: 300 },
};

export function openMinute(region: Region): number {
  return (SESSION_HOURS[region].parts[0] as readonly [number, number])[0];
}
/** Minute of the local day at which the regular session closes. */
export function closeMinute(region: Region): number {
  return (SESSION_HOURS[region].parts.at(-1) as readonly [number, number])[1];
}

/** Minutes of the regular session, without its auctions. */
export function sessionMinutes(region: Region): number {
  return SESSION_HOURS[region].parts.reduce((sum, [open, close]) => sum + close - open, 0);
}

/** Whether a date is a Monday to Friday. Holidays are not considered. */
export function isWeekday(date: TradingDate): boolean {
  return isWeekdayOf(epochDay(date));
}

/** As {@link isWeekday}, for a number of days since 1970-01-01, which was a Thursday. */
export function isWeekdayOf(day: number): boolean {
  return (((day + 3) % 7) + 7) % 7 < 5;
}

export function addDays(date: TradingDate, days: number): TradingDate {
  return dateOfEpochDay(epochDay(date) + days);
}

/**
 * The end (exclusive, epoch milliseconds) of the final bars in a region at an instant: local midnight after the last
 * weekday whose session has closed and settled. Bars labelled before this end no longer change.
 */
export function finalEnd(region: Region, now: number): number {
  const { zone } = REGIONS[region];
  let date = localDate(now, zone);
  while (!(isWeekday(date) && isSettled(region, date, now))) date = addDays(date, -1);
  return instantOf(addDays(date, 1), zone);
}

export function finalEnds(now: number): Readonly<Record<Region, number>> {
  return byRegion((region) => finalEnd(region, now));
}

/** By how much the clocks of this machine and of a service may differ. */
const CLOCK_TOLERANCE_MS = 5 * MINUTE_MS;

/**
 * By region: the end (exclusive, epoch milliseconds) of the times that bars can have at an instant. A day may have its bar
 * from its first moment on, whatever hour labels it; the last minute is the one under way, which is labelled by its end.
 */
export function possibleEnds(now: number, isMinute: boolean): Readonly<Record<Region, number>> {
  const latest = now + CLOCK_TOLERANCE_MS;
  return byRegion((region) =>
    isMinute ? latest + MINUTE_MS : dayRange(region, localDate(latest, REGIONS[region].zone)).end,
  );
}

/** The first instant after `now` at which {@link finalEnd} of a region changes, in epoch milliseconds. */
export function nextFinal(region: Region, now: number): number {
  let date = localDate(finalEnd(region, now), REGIONS[region].zone);
  while (!isWeekday(date)) date = addDays(date, 1);
  return settledAt(region, date);
}

function isSettled(region: Region, date: TradingDate, now: number): boolean {
  return settledAt(region, date) <= now;
}

function settledAt(region: Region, date: TradingDate): number {
  const { zone } = REGIONS[region];
  return instantOf(date, zone, closeMinute(region) + SESSION_HOURS[region].settleMinutes);
}

/** A date of a region as a range of instants, from local midnight to local midnight. */
export function dayRange(region: Region, date: TradingDate): TimeRange {
  return rangeOfDay(region, epochDay(date));
}

/** As {@link dayRange}, for a number of days since 1970-01-01. */
export function rangeOfDay(region: Region, day: number): TimeRange {
  return { start: midnightOf(region, day), end: midnightOf(region, day + 1) };
}

/**
 * Local midnight of a day (in days since 1970-01-01), in epoch milliseconds. A look-up of a zone takes about 100 times
 * as long as a subtraction, so it is done only for zones whose clocks change.
 */
export function midnightOf(region: Region, day: number): number {
  const { zone, steady } = REGIONS[region];
  return steady !== undefined && day >= steady.sinceDay
    ? day * DAY_MS - steady.offsetMs
    : instantOfDay(day, zone);
}

/** Whether the first minute of a date's session had ended at an instant (epoch milliseconds). */
export function hasOpened(region: Region, date: TradingDate, now: number): boolean {
  return sessionOpen(region, epochDay(date)) + MINUTE_MS <= now;
}

/** When the regular session of a day (in days since 1970-01-01) begins, in epoch milliseconds. */
export function sessionOpen(region: Region, day: number): number {
  return instantOfDay(day, REGIONS[region].zone, openMinute(region));
}

export const SESSION_STATUSES = ["pre_market", "regular", "lunch_break", "after_hours", "closed"] as const;
export type SessionStatus = (typeof SESSION_STATUSES)[number];

/**
 * When trading or auctions begin before the regular session, and when they end after it, in minutes after local
 * midnight: the opening call auction (CN from 9:15, HK from 9:00), fixed-price trading after the close (CN until
 * 15:30), the closing auction (HK until 16:10), and the extended hours of the US.
 */
const EXTENDED_HOURS: Readonly<Record<Region, readonly [begin: number, end: number]>> = {
  CN: [9 * 60 + 15, 15 * 60 + 30],
  HK: [9 * 60, 16 * 60 + 10],
  US: [4 * 60, 20 * 60],
};

/**
 * The state of a region's market at an instant, by the clock of its exchange. Holidays are known only from the bars, so
 * a weekday counts as a trading day unless `isTradingDay` returns false for it.
 *
 * @param now epoch milliseconds.
 */
export function sessionStatus(
  region: Region,
  now: number,
  isTradingDay: (date: TradingDate) => boolean = isWeekday,
): SessionStatus {
  const { zone } = REGIONS[region];
  const date = localDate(now, zone);
  if (!isTradingDay(date)) return "closed";
  const at = (minute: number): number => instantOf(date, zone, minute);
  const [begin, end] = EXTENDED_HOURS[region];
  if (now < at(begin) || now >= at(end)) return "closed";
  const { parts } = SESSION_HOURS[region];
  if (parts.some(([open, close]) => now >= at(open) && now < at(close))) return "regular";
  if (now < at((parts[0] as readonly [number, number])[0])) return "pre_market";
  return now < at((parts.at(-1) as readonly [number, number])[1]) ? "lunch_break" : "after_hours";
}
