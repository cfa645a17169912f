import { systemClock } from "../client/system-clock.js";
import { withSmallSession } from "../db/session/small-session.js";
import { regionCalendars } from "../jobs/ingest/bars/region-calendars.js";
import type { Lake } from "../lake/lake.js";
import { isWeekday } from "../market/sessions.js";
import type { IsTradingDay } from "../plan/due-times.js";

/** Assumes that every weekday is a trading day, for days that no calendar covers. */
export const isLikelyTradingDay: IsTradingDay = (_, date) => isWeekday(date);

/** The trading days used by schedules. */
export interface ScheduleDays {
  /** From the lake's calendar; every weekday that it does not cover yet counts as a trading day. */
  readonly isTradingDay: IsTradingDay;
  /** Reads the calendar again. */
  reload(): Promise<void>;
}

/** Reads the trading days that a lake knows. */
export async function scheduleDays(lake: Lake): Promise<ScheduleDays> {
  const read = () =>
    withSmallSession((session) => regionCalendars(session, lake, systemClock.now()), lake.access);
  let calendars = await read();
  return {
    isTradingDay: (region, date) => calendars.get(region)?.isOpen(date) === true,
    async reload() {
      calendars = await read();
    },
  };
}
