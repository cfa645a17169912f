import { lowerBound } from "../core/lower-bound.js";
import { dateOfEpochDay, epochDay, type TimeRange, type TradingDate } from "../core/time.js";
import type { Region } from "./regions.js";
import { dayRange, isWeekday, isWeekdayOf, sessionDates } from "./sessions.js";

/** Weekdays of the longest holiday: eight in China. */
export const LONGEST_HOLIDAY = 8;

/**
 * The days on which a region traded, as far as they are known; outside of these every weekday counts as a trading day.
 */
export class TradingCalendar {
  readonly region: Region;
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
 * The spans in which the lake knows no trading day: before the first known one, after the last, and in gaps that are
 * longer than any holiday.
 *
 * @param known trading days, ascending.
 */
export function unknownSpans(known: readonly TradingDate[]): UnknownSpan[] {
  const spans: UnknownSpan[] = [{ after: undefined, before: known[0] }];
  for (const [index, after] of known.entries()) {
    const before = known[index + 1];
    if (before === undefined || weekdaysBetween(after, before).length > LONGEST_HOLIDAY)
      spans.push({ after, before });
  }
  return spans;
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
