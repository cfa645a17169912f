import { REGIONS, type Region } from "../../../../src/market/regions.js";
import { addDays, finalEnd, isWeekday } from "../../../../src/market/sessions.js";
import { instantOf, localDate } from "../../../../src/market/zone.js";
import { LOOKBACK_DAYS } from "../fault-schedule.js";
import type { TrueMarket } from "../upstream/true-market.js";

/** Earliest start of the days that are requested again: the lake may know fewer holidays than there are. */
export function earliestRecheck(market: TrueMarket, region: Region, now: number): number {
  const end = finalEnd(region, now);
  return (
    market.daysOf(region).findLast((_, n, days) => (days[n + LOOKBACK_DAYS - 1]?.start ?? end) < end)
      ?.start ?? end
  );
}

/** Their latest start: as if every weekday were a trading day. */
export function latestRecheck(region: Region, now: number): number {
  const { zone } = REGIONS[region];
  let date = localDate(finalEnd(region, now) - 1, zone);
  for (let days = Number(isWeekday(date)); days < LOOKBACK_DAYS; days += Number(isWeekday(date)))
    date = addDays(date, -1);
  return instantOf(date, zone);
}
