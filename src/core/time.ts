import { millisecondsInDay as DAY_MS, millisecondsInMinute as MINUTE_MS } from "date-fns/constants";
import { UsageError } from "./errors.js";

/** A half-open range of time in epoch milliseconds: `start` inclusive, `end` exclusive. */
export interface TimeRange {
  readonly start: number;
  readonly end: number;
}

/** A calendar date of an exchange, `YYYY-MM-DD`. Only {@link parseTradingDate} and the calendar make one. */
export type TradingDate = string & { readonly __brand: "TradingDate" };

export { DAY_MS, MINUTE_MS };

/**
 * The source of the current time: of the machine, of a test, or of a replay. Code that decides by the time, or stores it,
 * reads a clock that was passed in. Times of files are compared with times of files, and not with a clock.
 */
export interface Clock {
  /** Epoch milliseconds. A user can set it, forwards or backwards. */
  now(): number;
  /** Milliseconds since an arbitrary start, for durations; it is never set. @default now */
  monotonic?(): number;
  /** Resolves after `ms` milliseconds, or rejects at once when `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** As `sleep`, but the process may end meanwhile. @default a timer of the machine */
  idle?(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Milliseconds on the monotonic clock: the difference of two readings is a duration. */
export function ticksOf(clock: Pick<Clock, "now" | "monotonic">): number {
  return clock.monotonic?.() ?? clock.now();
}

const DATE = /^(\d{4})(-?)(\d{2})\2(\d{2})$/;

/** Reads `YYYY-MM-DD` or `YYYYMMDD`. @throws {UsageError} when it is not a date of the Gregorian calendar. */
export function parseTradingDate(text: string): TradingDate {
  const match = DATE.exec(text);
  if (match) {
    const date = `${match[1]}-${match[3]}-${match[4]}`;
    const ms = Date.parse(`${date}T00:00:00Z`);
    if (Number.isFinite(ms) && new Date(ms).toISOString().startsWith(date)) return date as TradingDate;
  }
  throw new UsageError(`date "${text}" is not a calendar date`, { hint: "write it as YYYY-MM-DD" });
}

/** Whether a text is `YYYY-MM-DD` of a date. */
export function isTradingDate(text: string): boolean {
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isFinite(ms) && new Date(ms).toISOString().slice(0, 10) === text;
}

export function epochDay(date: TradingDate): number {
  return Date.parse(`${date}T00:00:00Z`) / DAY_MS;
}

export function dateOfEpochDay(day: number): TradingDate {
  return new Date(day * DAY_MS).toISOString().slice(0, 10) as TradingDate;
}

/** Joins ranges that touch or overlap; the result is sorted and disjoint. */
export function unionRanges(ranges: readonly TimeRange[]): TimeRange[] {
  const sorted = ranges.filter((r) => r.end > r.start).sort((a, b) => a.start - b.start);
  const joined: { start: number; end: number }[] = [];
  for (const range of sorted) {
    const last = joined.at(-1);
    if (last && range.start <= last.end) last.end = Math.max(last.end, range.end);
    else joined.push({ ...range });
  }
  return joined;
}

/** What remains of `range` once the given ranges are cut out; sorted and disjoint. */
export function subtractRanges(range: TimeRange, cut: readonly TimeRange[]): TimeRange[] {
  const rest: TimeRange[] = [];
  let { start } = range;
  for (const hole of unionRanges(cut)) {
    if (hole.end <= start) continue;
    if (hole.start >= range.end) break;
    if (hole.start > start) rest.push({ start, end: hole.start });
    start = hole.end;
  }
  if (start < range.end) rest.push({ start, end: range.end });
  return rest;
}
