import { TickMarkType, type Time, type UTCTimestamp } from "lightweight-charts";
import type { PackedChart } from "../../page/pack-charts.js";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Whether a chart's bars are within days: their labels are times. */
export function hasTimes({ channels }: PackedChart): boolean {
  return channels.x?.[0]?.kind === "time";
}

/** A bar's date, or its time with the zone. */
export function timeText(seconds: UTCTimestamp, isTime: boolean): string {
  const text = new Date(seconds * 1000).toISOString();
  return isTime ? `${text.slice(0, 16).replace("T", " ")} UTC` : text.slice(0, 10);
}

/** A label of the axis of time; its form shows whether it is a year, a month, a day or a time. */
export function tickText(time: Time, kind: TickMarkType): string {
  const at = new Date((time as UTCTimestamp) * 1000);
  const month = MONTHS[at.getUTCMonth()];
  switch (kind) {
    case TickMarkType.Year:
      return String(at.getUTCFullYear());
    case TickMarkType.Month:
      return `${month} ${at.getUTCFullYear()}`;
    case TickMarkType.DayOfMonth:
      return `${at.getUTCDate()} ${month}`;
    case TickMarkType.Time:
    case TickMarkType.TimeWithSeconds:
      return at.toISOString().slice(11, 16);
  }
}
