import type { TradingDate } from "../core/time.js";
import { REGIONS, type Region } from "./regions.js";
import { isWeekday, SESSION_HOURS } from "./sessions.js";
import { instantOf, localDate } from "./zone.js";

export const SESSION_STATUSES = ["pre_market", "regular", "lunch_break", "after_hours", "closed"] as const;
/** The state of a market at an instant. */
export type SessionStatus = (typeof SESSION_STATUSES)[number];

/**
 * When trading or auctions begin before the regular session, and when they end after it, in minutes after local
 * midnight: the opening call auction (CN from 9:15, HK from 9:00), fixed-price trading after the close (CN until
 * 15:30), the closing auction (HK until 16:10), and the extended hours of the US.
 */
const EXTENDED_HOURS: Readonly<Record<Region, readonly [begin: number, end: number]>> = {
  CN: [9 * 60 + 15, 15 * 60 + 30],
  HK: [9 * 60, 16 * 60 + 10],
  US: [4 * 60, 20 * 60],
};

/**
 * The state of a region's market at an instant, by the clock of its exchange. Holidays are known only from the bars, so
 * a weekday counts as a trading day unless `isTradingDay` returns false for it.
 *
 * @param now epoch milliseconds.
 */
export function sessionStatus(
  region: Region,
  now: number,
  isTradingDay: (date: TradingDate) => boolean = isWeekday,
): SessionStatus {
  const { zone } = REGIONS[region];
  const date = localDate(now, zone);
  if (!isTradingDay(date)) return "closed";
  const at = (minute: number): number => instantOf(date, zone, minute);
  const [begin, end] = EXTENDED_HOURS[region];
  if (now < at(begin) || now >= at(end)) return "closed";
  const { parts } = SESSION_HOURS[region];
  if (parts.some(([open, close]) => now >= at(open) && now < at(close))) return "regular";
  if (now < at((parts[0] as readonly [number, number])[0])) return "pre_market";
  return now < at((parts.at(-1) as readonly [number, number])[1]) ? "lunch_break" : "after_hours";
}
