import { systemClock } from "../client/system-clock.js";
import { Session } from "../db/session.js";
import { regionCalendars } from "../jobs/ingest/region-calendars.js";
import type { Lake } from "../lake/lake.js";
import { isWeekday } from "../market/sessions.js";
import type { IsTradingDay } from "../plan/due-times.js";

/** Days to come on which a region trades, as far as is known of them. */
export const isLikelyTradingDay: IsTradingDay = (_, date) => isWeekday(date);

/** The trading days that schedules go by. */
export interface ScheduleDays {
  /** As the lake's calendar has it; on days that it does not know yet, and all those to come, every weekday is one. */
  readonly isTradingDay: IsTradingDay;
  /** Reads the calendar anew. */
  reload(): Promise<void>;
}

/** Reads the trading days that a lake knows. */
export async function scheduleDays(lake: Lake): Promise<ScheduleDays> {
  const read = async () => {
    using session = await Session.open({ threads: 1 });
    return await regionCalendars(session, lake, systemClock.now());
  };
  let calendars = await read();
  return {
    isTradingDay: (region, date) => calendars.get(region)?.isOpen(date) === true,
    async reload() {
      calendars = await read();
    },
  };
}
