import type { Region } from "../core/exchange.js";
import type { TimeRange, TradingDate } from "../core/time.js";
import { dayRange, isWeekday, sessionDates } from "./sessions.js";

/** The days on which a region traded, as far as they are known; beyond them every weekday counts as one. */
export class TradingCalendar {
  readonly region: Region;
  readonly #known: ReadonlySet<TradingDate>;
  readonly #first: TradingDate | undefined;
  readonly #last: TradingDate | undefined;

  /** @param known every trading day from the first of them to the last, ascending. @default none is known */
  constructor(region: Region, known: readonly TradingDate[] = []) {
    this.region = region;
    this.#known = new Set(known);
    this.#first = known[0];
    this.#last = known.at(-1);
  }

  /** Says whether the region trades on a date, as far as is known. */
  isOpen(date: TradingDate): boolean {
    const { first, last } = this.known;
    if (first !== undefined && last !== undefined && first <= date && date <= last)
      return this.#known.has(date);
    return isWeekday(date);
  }

  /** The span in which the days are known and not assumed. */
  get known(): { readonly first: TradingDate | undefined; readonly last: TradingDate | undefined } {
    return { first: this.#first, last: this.#last };
  }

  /** Trading days that a range overlaps and whose session has begun by `now`, with their midnights; ascending. */
  daysIn(range: TimeRange, now: number): TradingDay[] {
    return sessionDates(this.region, range, now)
      .filter((date) => this.isOpen(date))
      .map((date) => ({ date, ...dayRange(this.region, date) }));
  }
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
  const first = lowerBound(days.length, (i) => (days[i] as TradingDay).end > range.start);
  const end = lowerBound(days.length, (i) => (days[i] as TradingDay).start >= range.end);
  return { first, end: Math.max(first, end) };
}

/** The first index from 0 to `length` at which a condition that stays true once it is true holds. */
function lowerBound(length: number, holds: (index: number) => boolean): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
