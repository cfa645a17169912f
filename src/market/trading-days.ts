import { lowerBound } from "../core/lower-bound.js";
import { dateOfEpochDay, type TimeRange, type TradingDate } from "../core/time.js";

/**
 * Trading days of a region, ascending, from local midnight to local midnight. They are stored as columns, because a
 * plan of a whole history has thousands of days, and looks them up for each response.
 */
export interface TradingDays {
  readonly length: number;
  /** Days from 1970-01-01 to each date. */
  readonly epochDays: Int32Array;
  /** Epoch milliseconds. */
  readonly starts: Float64Array;
  /** Exclusive, epoch milliseconds. */
  readonly ends: Float64Array;
}

export const NO_DAYS: TradingDays = {
  length: 0,
  epochDays: new Int32Array(),
  starts: new Float64Array(),
  ends: new Float64Array(),
};

/** The date of the day at an index; undefined where there are fewer days. */
export function dateAt({ epochDays }: TradingDays, index: number): TradingDate | undefined {
  const day = epochDays.at(index);
  return day === undefined ? undefined : dateOfEpochDay(day);
}

/** The day at an index, as a range in epoch milliseconds. @param index from 0; below the number of days. */
export function dayAt({ starts, ends }: TradingDays, index: number): TimeRange {
  return { start: starts[index] as number, end: ends[index] as number };
}

/** The days from one position to another (exclusive). They share the memory of the given days. */
export function daysBetween(
  { epochDays, starts, ends }: TradingDays,
  first: number,
  end: number,
): TradingDays {
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
