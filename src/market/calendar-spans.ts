import { DAY_MS, epochDay, type TradingDate } from "../core/time.js";
import { addDays } from "./sessions.js";
import { instantOf, localDate } from "./zone.js";

/** A day, month or year of a zone's local calendar. */
export interface CalendarSpan {
  /** The first date of the span. */
  readonly first: TradingDate;
  /** Days from 1970-01-01 to {@link first}. */
  readonly epochDay: number;
  /** Epoch milliseconds. */
  readonly start: number;
  /** Exclusive, epoch milliseconds. */
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
 * Makes a function that returns the day, month or year that an instant (epoch milliseconds) falls in. Converting a time
 * to a zone is slow, so each span is computed only once for each UTC day that it overlaps.
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
