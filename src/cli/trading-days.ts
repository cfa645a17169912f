import { isWeekday } from "../calendar/sessions.js";
import type { IsTradingDay } from "../plan/due-times.js";

/** The trading days that schedules go by: Mondays to Fridays. On a holiday a run finds nothing to ask for. */
export const isTradingDay: IsTradingDay = (_, date) => isWeekday(date);
