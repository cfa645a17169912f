import { CALENDAR_SYMBOLS } from "../../../../src/lake/land/trading-days.js";
import { REGIONS, type Region } from "../../../../src/market/regions.js";
import { addDays, finalEnd, isWeekday } from "../../../../src/market/sessions.js";
import { instantOf, localDate } from "../../../../src/market/zone.js";
import { LOOKBACK_DAYS } from "../fault-schedule.js";
import type { TrueMarket } from "../upstream/true-market.js";

/**
 * Earliest start of the days that are requested again. Days on which the service sends no bar of the region's index, or
 * left it out of a response, may be unknown to the lake: then as many earlier ones are requested.
 *
 * @param leftOut starts of days without a bar of the index in some response.
 */
export function earliestRecheck(
  market: TrueMarket,
  region: Region,
  now: number,
  leftOut: ReadonlySet<number>,
): number {
  const end = finalEnd(region, now);
  const sent = new Set(CALENDAR_SYMBOLS[region].flatMap((symbol) => daysSent(market, symbol, now)));
  const known = market
    .daysOf(region)
    .filter(({ start }) => sent.size === 0 || (sent.has(start) && !leftOut.has(start)));
  return known.findLast((_, n, days) => (days[n + LOOKBACK_DAYS - 1]?.start ?? end) < end)?.start ?? end;
}

function daysSent(market: TrueMarket, symbol: string, now: number): number[] {
  const all = { first: Number.NEGATIVE_INFINITY, last: now, count: Number.POSITIVE_INFINITY };
  return market.bars("1d", symbol, all, now).map(({ timestamp }) => timestamp);
}

/** Their latest start: as if every weekday were a trading day. */
export function latestRecheck(region: Region, now: number): number {
  const { zone } = REGIONS[region];
  let date = localDate(finalEnd(region, now) - 1, zone);
  for (let days = Number(isWeekday(date)); days < LOOKBACK_DAYS; days += Number(isWeekday(date)))
    date = addDays(date, -1);
  return instantOf(date, zone);
}
