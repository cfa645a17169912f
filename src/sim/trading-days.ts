import { lowerBound } from "../core/lower-bound.js";
import { dateOfEpochDay, epochDay, type TradingDate } from "../core/time.js";
import { REGIONS, type Region } from "../market/regions.js";
import { isWeekday } from "../market/sessions.js";
import { instantOf } from "../market/zone.js";
import { bell, mix, mixText } from "./random.js";

/** Periods of the year without trading, `MM-DD`, both ends inclusive: invented, but similar to the region's holidays. */
const HOLIDAYS: Readonly<Record<Region, readonly (readonly [first: string, last: string])[]>> = {
  CN: [
    ["01-01", "01-01"],
    ["02-11", "02-17"],
    ["04-05", "04-05"],
    ["05-01", "05-03"],
    ["06-20", "06-20"],
    ["10-01", "10-07"],
  ],
  HK: [
    ["01-01", "01-01"],
    ["02-11", "02-13"],
    ["04-05", "04-05"],
    ["05-01", "05-01"],
    ["07-01", "07-01"],
    ["10-01", "10-01"],
    ["12-25", "12-26"],
  ],
  US: [
    ["01-01", "01-01"],
    ["01-19", "01-19"],
    ["05-26", "05-26"],
    ["07-04", "07-04"],
    ["09-02", "09-02"],
    ["11-26", "11-26"],
    ["12-25", "12-25"],
  ],
};

/** The trading days of a region's history, and what all its instruments share. Arrays are indexed by day index. */
export interface RegionCalendar {
  readonly region: Region;
  /** Ascending. */
  readonly dates: readonly TradingDate[];
  readonly epochDays: Int32Array;
  /** Local midnight of each date, epoch milliseconds. */
  readonly midnights: Float64Array;
  /** Logarithmic return of the whole market on each day. */
  readonly marketReturns: Float64Array;
}

export function isTradingDay(region: Region, date: TradingDate): boolean {
  const day = date.slice(5);
  return isWeekday(date) && !HOLIDAYS[region].some(([first, last]) => first <= day && day <= last);
}

/** The last `days` trading days of a region up to `end`, inclusive. */
export function regionCalendar(region: Region, seed: number, days: number, end: TradingDate): RegionCalendar {
  const epochDays = new Int32Array(days);
  let day = epochDay(end);
  for (let i = days - 1; i >= 0; day--) {
    if (isTradingDay(region, dateOfEpochDay(day))) epochDays[i--] = day;
  }
  const dates = Array.from(epochDays, dateOfEpochDay);
  const key = mixText(seed, region);
  return {
    region,
    dates,
    epochDays,
    midnights: Float64Array.from(dates, (date) => instantOf(date, REGIONS[region].zone)),
    marketReturns: Float64Array.from(epochDays, (d) => 0.0002 + 0.009 * bell(mix(key, d), 0)),
  };
}

/** Index of the first trading day at or after a day since 1970-01-01; the number of days where there is none. */
export function dayIndexAtOrAfter(calendar: RegionCalendar, day: number): number {
  const { epochDays } = calendar;
  return lowerBound(0, epochDays.length, (at) => (epochDays[at] as number) >= day);
}
