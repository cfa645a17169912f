import { LEAST_EX_CHANGE } from "../../market/adjustment/ex-events.js";
import { UNKNOWN_DAYS } from "../../market/trading-calendar.js";

/**
 * Whether a day is an ex-date, by the rule of `exFactor`: compares the last bar's close with the stated previous close.
 */
export function isExEventSql(lastClose: string, prevClose: string): string {
  return `${prevClose} > 0 AND isfinite(${prevClose}) AND ${lastClose} > 0 AND isfinite(${lastClose} / ${prevClose}) AND abs(${lastClose} / ${prevClose} - 1) >= ${LEAST_EX_CHANGE}`;
}

/** Whether the days between two dates are unknown, by the rule of `unknownSpans`. None of them is a known trading day. */
export function isUnknownStretchSql(after: string, before: string): string {
  return `date_diff('day', ${after}, ${before}) >= ${UNKNOWN_DAYS}`;
}
