import { lowerBound } from "../core/lower-bound.js";
import { dateOfEpochDay, epochDay, type TimeRange, type TradingDate } from "../core/time.js";
import type { Region } from "./regions.js";
import { dayRange, isWeekday, isWeekdayOf, sessionDates } from "./sessions.js";

/** Weekdays of the longest holiday of the last twenty years: eight in China. */
export const LONGEST_HOLIDAY = 8;

/**
 * Days from one known trading day to the next from which on the days between them are unknown. Since 1990 no two sessions
 * were further apart than 20 days: in China, from 1999-02-09 to 1999-03-01.
 */
export const UNKNOWN_DAYS = 21;

/** Whether days between two days (since 1970-01-01) are unknown to a calendar: three weeks or more without a trading day. */
export type IsUnknownBetween = (last: number, day: number) => boolean;

/**
 * The days on which a region traded, as far as they are known; outside of these every weekday counts as a trading day.
 */
export class TradingCalendar {
  readonly region: Region;
  readonly isUnknownBetween: IsUnknownBetween;
  readonly #days: ReadonlySet<TradingDate>;
  /** Weekdays between known days on which the region was closed. */
  readonly #closed = new Set<TradingDate>();

  /**
   * @param known trading days, ascending. @default none is known
   * @param isKnownClosed whether the region was closed on an unknown weekday between two of them: a trading day would be
   *   known.
   *   @default all were closed
   */
  constructor(
    region: Region,
    known: readonly TradingDate[] = [],
    isKnownClosed: (date: TradingDate) => boolean = () => true,
  ) {
    this.region = region;
    this.isUnknownBetween = unknownBetween(known);
    this.#days = new Set(known);
    for (const [index, date] of known.entries()) {
      for (const one of weekdaysBetween(known[index - 1] ?? date, date))
        if (isKnownClosed(one)) this.#closed.add(one);
    }
  }

  /** Whether the region trades on a date, as far as is known. */
  isOpen(date: TradingDate): boolean {
    return this.#days.has(date) || (isWeekday(date) && !this.#closed.has(date));
  }

  /** Whether no session is known between two dates, and as many weekdays as a holiday can have, at most. */
  areNeighbours(before: TradingDate, date: TradingDate): boolean {
    const between = weekdaysBetween(before, date);
    return between.length <= LONGEST_HOLIDAY && !between.some((one) => this.#days.has(one));
  }

  /** Trading days that a range overlaps and whose session has begun by `now`, with their midnights; ascending. */
  daysIn(range: TimeRange, now: number): TradingDay[] {
    return sessionDates(this.region, range, now)
      .filter((date) => this.isOpen(date))
      .map((date) => ({ date, ...dayRange(this.region, date) }));
  }
}

/** Weekdays after one date and before another. */
function weekdaysBetween(first: TradingDate, last: TradingDate): TradingDate[] {
  const found: TradingDate[] = [];
  for (let day = epochDay(first) + 1; day < epochDay(last); day++) {
    if (isWeekdayOf(day)) found.push(dateOfEpochDay(day));
  }
  return found;
}

/** Days of which it is not known whether a region traded; both ends exclusive, undefined for an open end. */
export interface UnknownSpan {
  readonly after: TradingDate | undefined;
  readonly before: TradingDate | undefined;
}

/**
 * The spans in which the lake knows no trading day: before the first known one, after the last, and in gaps of
 * {@link UNKNOWN_DAYS}, which are longer than any holiday.
 *
 * @param known trading days, ascending.
 */
export function unknownSpans(known: readonly TradingDate[]): UnknownSpan[] {
  const spans: UnknownSpan[] = [{ after: undefined, before: known[0] }];
  for (const [index, after] of known.entries()) {
    const before = known[index + 1];
    if (before === undefined || epochDay(before) - epochDay(after) >= UNKNOWN_DAYS)
      spans.push({ after, before });
  }
  return spans;
}

/**
 * Makes the test whether three weeks or more lie between two days of which the lake knows no trading day. The two days
 * need not be known ones themselves: of the time before the first known day, a year is unknown, and a week is not.
 *
 * @param known trading days, ascending.
 */
export function unknownBetween(known: readonly TradingDate[]): IsUnknownBetween {
  const spans = unknownSpans(known).map(({ after, before }) => ({
    after: after === undefined ? Number.NEGATIVE_INFINITY : epochDay(after),
    before: before === undefined ? Number.POSITIVE_INFINITY : epochDay(before),
  }));
  return (last, day) =>
    day - last >= UNKNOWN_DAYS &&
    spans.some(({ after, before }) => Math.min(day, before) - Math.max(last, after) >= UNKNOWN_DAYS);
}

/** A trading day, local midnight to local midnight. */
export interface TradingDay extends TimeRange {
  readonly date: TradingDate;
}

/** Positions of the days that a range overlaps: `first` inclusive, `end` exclusive. */
export function daysOverlapped(
  days: readonly TradingDay[],
  range: TimeRange,
): { readonly first: number; readonly end: number } {
  const first = lowerBound(0, days.length, (i) => (days[i] as TradingDay).end > range.start);
  const end = lowerBound(0, days.length, (i) => (days[i] as TradingDay).start >= range.end);
  return { first, end: Math.max(first, end) };
}
