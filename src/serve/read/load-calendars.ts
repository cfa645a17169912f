import { readKnownDays } from "../../db/market/read-ex-rules.js";
import { byRegion, type Region } from "../../market/regions.js";
import { TradingCalendar } from "../../market/trading-calendar.js";
import { TRADING_DAYS } from "../../schema/trading-days.js";
import type { LakeVersion } from "./lake-version.js";

/** The calendar of each region. */
export type Calendars = Readonly<Record<Region, TradingCalendar>>;

/** Reads the trading days of each region. For a region without known days, every weekday counts as a trading day. */
export async function loadCalendars(version: LakeVersion): Promise<Calendars> {
  const snapshot = await version.snapshot(TRADING_DAYS);
  const known = await version.query(async (session) => {
    const relation = await version.relation(session, snapshot, snapshot.files.values());
    return readKnownDays(session, `(${relation})`);
  });
  const calendarOf = (region: Region): TradingCalendar => new TradingCalendar(region, known.get(region));
  return byRegion(calendarOf);
}
