import { lowerBound } from "../core/lower-bound.js";
import { DAY_MS, dateOfEpochDay, epochDay, type TimeRange, type TradingDate } from "../core/time.js";
import { REGIONS, type Region } from "./regions.js";
import { addDays, isWeekdayOf, midnightOf, rangeOfDay, sessionOpen } from "./sessions.js";
import { instantOf, localDate, localDay } from "./zone.js";

/** A day, month or year of a zone's local calendar. */
export interface CalendarSpan {
  readonly first: TradingDate;
  /** Days from 1970-01-01 to {@link first}. */
  readonly epochDay: number;
  /** Epoch milliseconds; the end is exclusive. */
  readonly start: number;
  readonly end: number;
}

export type CalendarUnit = "day" | "month" | "year";

const FIRST_DATE: Readonly<Record<CalendarUnit, (date: TradingDate) => TradingDate>> = {
  day: (date) => date,
  month: (date) => `${date.slice(0, 7)}-01` as TradingDate,
  year: (date) => `${date.slice(0, 4)}-01-01` as TradingDate,
};

/** A number of days that leads from the first date of any span into the next span, and not beyond it. */
const DAYS_TO_NEXT: Readonly<Record<CalendarUnit, number>> = { day: 1, month: 31, year: 366 };

/**
 * The day, month or year that an instant (epoch milliseconds) falls in. Converting a time to a zone is slow, so each
 * span is computed only once for each UTC day that it overlaps.
 */
export function calendarSpans(zone: string, unit: CalendarUnit): (ms: number) => CalendarSpan {
  const byUtcDay = new Map<number, CalendarSpan[]>();
  return (ms) => {
    const utcDay = Math.floor(ms / DAY_MS);
    const known = byUtcDay.get(utcDay) ?? [];
    for (const span of known) if (ms >= span.start && ms < span.end) return span;
    const span = spanAt(ms, zone, unit);
    byUtcDay.set(utcDay, [...known, span]);
    return span;
  };
}

function spanAt(ms: number, zone: string, unit: CalendarUnit): CalendarSpan {
  const first = FIRST_DATE[unit](localDate(ms, zone));
  const next = FIRST_DATE[unit](addDays(first, DAYS_TO_NEXT[unit]));
  return { first, epochDay: epochDay(first), start: instantOf(first, zone), end: instantOf(next, zone) };
}

/**
 * Trading days of a region, ascending, from local midnight to local midnight. They are columns: a plan of a whole
 * history has thousands of days, and looks them up for each response.
 */
export interface TradingDays {
  readonly length: number;
  /** Days from 1970-01-01 to each date. */
  readonly epochDays: Int32Array;
  /** Epoch milliseconds; the ends are exclusive. */
  readonly starts: Float64Array;
  readonly ends: Float64Array;
}

export const NO_DAYS: TradingDays = {
  length: 0,
  epochDays: new Int32Array(),
  starts: new Float64Array(),
  ends: new Float64Array(),
};

export function dateAt({ epochDays }: TradingDays, index: number): TradingDate | undefined {
  const day = epochDays.at(index);
  return day === undefined ? undefined : dateOfEpochDay(day);
}

/** The day at an index, as a range in epoch milliseconds. @param index from 0; below the number of days. */
export function dayAt({ starts, ends }: TradingDays, index: number): TimeRange {
  return { start: starts[index] as number, end: ends[index] as number };
}

/** The days from one position to another (exclusive). They share the memory of the given days. */
function daysBetween({ epochDays, starts, ends }: TradingDays, first: number, end: number): TradingDays {
  const last = Math.max(first, end);
  return {
    length: last - first,
    epochDays: epochDays.subarray(first, last),
    starts: starts.subarray(first, last),
    ends: ends.subarray(first, last),
  };
}

/** Position of the first day that ends after an instant (epoch milliseconds). */
export function firstDayAfter({ length, ends }: TradingDays, instant: number): number {
  return lowerBound(0, length, (i) => (ends[i] as number) > instant);
}

/** Positions of the days that a range overlaps: `first` inclusive, `end` exclusive. */
export function daysOverlapped(
  days: TradingDays,
  range: TimeRange,
): { readonly first: number; readonly end: number } {
  const first = firstDayAfter(days, range.start);
  const end = lowerBound(first, days.length, (i) => (days.starts[i] as number) >= range.end);
  return { first, end };
}

/** Number of weekdays in the longest holiday of the last twenty years: eight, in China. */
export const LONGEST_HOLIDAY = 8;

/** Least number of days by which the table of a calendar grows, so that it grows seldom. */
const TABLE_STEP = 1024;

/**
 * If two consecutive known trading days are at least this number of days apart, the days between them are unknown.
 * Since 1990 no two sessions were further apart than 20 days: in China, from 1999-02-09 to 1999-03-01.
 */
export const UNKNOWN_DAYS = 21;

/** See {@link unknownBetween}; in days since 1970-01-01. */
type IsUnknownBetween = (last: number, day: number) => boolean;

/** The known trading days of a region. Outside the range of known days, every weekday counts as a trading day. */
export class TradingCalendar {
  readonly region: Region;
  /** Known trading days, and weekdays between them on which the region was closed, in days since 1970-01-01. */
  readonly #days: ReadonlySet<number>;
  /** The known trading days, ascending, in days since 1970-01-01. */
  readonly #known: Int32Array;
  readonly #closed = new Set<number>();
  /** A cached range of trading days, from one day (inclusive) to another (exclusive). */
  #table: { readonly from: number; readonly to: number; readonly days: TradingDays } | undefined;

  /**
   * @param known trading days, ascending. @param isKnownClosed whether the region was closed on a weekday between two
   * known trading days that is not known itself. @default all were closed
   */
  constructor(
    region: Region,
    known: readonly TradingDate[] = [],
    isKnownClosed: (day: TimeRange) => boolean = () => true,
  ) {
    this.region = region;
    const days = known.map(epochDay);
    this.#days = new Set(days);
    this.#known = Int32Array.from(days);
    for (const [index, day] of days.entries()) {
      for (const one of weekdaysBetween(days[index - 1] ?? day, day))
        if (isKnownClosed(rangeOfDay(region, one))) this.#closed.add(one);
    }
  }

  /** Whether the region trades on a date, as far as the calendar knows. */
  isOpen(date: TradingDate): boolean {
    return this.#isOpen(epochDay(date));
  }

  /** Whether no session is known between two dates, and no more weekdays than a holiday can have. */
  areNeighbours(before: TradingDate, date: TradingDate): boolean {
    const between = weekdaysBetween(epochDay(before), epochDay(date));
    return between.length <= LONGEST_HOLIDAY && !between.some((one) => this.#days.has(one));
  }

  /** The trading days that a range overlaps and whose session has begun by `now` (epoch milliseconds), ascending. */
  daysIn(range: TimeRange, now: number): TradingDays {
    if (range.end <= range.start) return NO_DAYS;
    const { zone } = REGIONS[this.region];
    const until = Math.min(range.end - 1, now);
    const days = this.#daysFrom(localDay(range.start, zone), localDay(until, zone) + 1);
    const { first, end } = daysOverlapped(days, { start: range.start, end: until + 1 });
    const begun = lowerBound(first, end, (i) => sessionOpen(this.region, days.epochDays[i] as number) > now);
    return daysBetween(days, first, begun);
  }

  /** Whether a range overlaps a known trading day. A weekday outside the range of known days is none. */
  hasKnownDay(range: TimeRange): boolean {
    if (range.end <= range.start) return false;
    const { zone } = REGIONS[this.region];
    const known = this.#known;
    const first = localDay(range.start, zone);
    const next = lowerBound(0, known.length, (i) => (known[i] as number) >= first);
    return next < known.length && (known[next] as number) <= localDay(range.end - 1, zone);
  }

  /** The starts of the last known trading days before the day of an instant, ascending; epoch milliseconds. */
  knownDaysBefore(instant: number, count: number): number[] {
    const day = localDay(instant, REGIONS[this.region].zone);
    const end = lowerBound(0, this.#known.length, (i) => (this.#known[i] as number) >= day);
    const last = this.#known.subarray(Math.max(0, end - count), end);
    return Array.from(last, (one) => midnightOf(this.region, one));
  }

  #isOpen(day: number): boolean {
    return this.#days.has(day) || (isWeekdayOf(day) && !this.#closed.has(day));
  }

  /** The table, extended to contain at least the days from one (inclusive) to another (exclusive). */
  #daysFrom(first: number, end: number): TradingDays {
    const known = this.#table;
    if (known !== undefined && (end <= first || (first >= known.from && end <= known.to))) return known.days;
    const from = TABLE_STEP * Math.floor(Math.min(first, known?.from ?? first) / TABLE_STEP);
    const to = TABLE_STEP * Math.ceil(Math.max(first, end, known?.to ?? end) / TABLE_STEP);
    const open = new Int32Array(to - from);
    let length = 0;
    for (let day = from; day < to; day++) if (this.#isOpen(day)) open[length++] = day;
    const epochDays = open.slice(0, length);
    const [starts, ends] = [new Float64Array(length), new Float64Array(length)];
    for (let i = 0; i < length; i++) {
      const day = epochDays[i] as number;
      const isNext = i > 0 && epochDays[i - 1] === day - 1;
      starts[i] = isNext ? (ends[i - 1] as number) : midnightOf(this.region, day);
      ends[i] = midnightOf(this.region, day + 1);
    }
    const days = { length, epochDays, starts, ends };
    this.#table = { from, to, days };
    return days;
  }
}

/** Weekdays after one day and before another, in days since 1970-01-01. */
function weekdaysBetween(first: number, last: number): number[] {
  const found: number[] = [];
  for (let day = first + 1; day < last; day++) if (isWeekdayOf(day)) found.push(day);
  return found;
}

/** Days on which a region may or may not have traded. Both ends are exclusive; undefined means an open end. */
interface UnknownSpan {
  readonly after: TradingDate | undefined;
  readonly before: TradingDate | undefined;
}

/**
 * The spans without a known trading day: before the first one, after the last one, and in gaps of at least {@link
 * UNKNOWN_DAYS}, which are longer than any holiday. The known days ascend.
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
 * Whether there are three weeks or more without a known trading day between two days, which need not be known
 * themselves: before the first known day, a year without trading days is unknown, a week is not. The known days ascend.
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
