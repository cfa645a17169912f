import { type KnownDays, readKnownDays } from "../../dataset/panel/known-days.js";
import type { Session } from "../../db/session/session.js";
import { byRegion, type Region } from "../../market/regions.js";
import { type IsUnknownBetween, unknownBetween } from "../../market/trading-calendar.js";

/** Which days are unknown to the calendar of each region. */
export type Calendars = Readonly<Record<Region, IsUnknownBetween>>;

/** The calendars that follow from the trading days of a lake. */
export function calendarsOf(days: KnownDays): Calendars {
  const calendarOf = (region: Region): IsUnknownBetween => unknownBetween(days.get(region) ?? []);
  return byRegion(calendarOf);
}

/** @param session has the lake's views. */
export async function readCalendars(session: Session): Promise<Calendars> {
  return calendarsOf(await readKnownDays(session));
}
