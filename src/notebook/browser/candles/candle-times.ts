import { TickMarkType, type Time, type UTCTimestamp } from "lightweight-charts";
import type { PackedChart } from "../../page/pack-charts.js";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** Whether a chart's bars are shorter than days, so that their labels are times. */
export function hasTimes({ channels }: PackedChart): boolean {
  return channels.x?.[0]?.kind === "time";
}

/** The date of a bar, or its time with the zone. */
export function timeText(seconds: UTCTimestamp, isTime: boolean): string {
  const text = new Date(seconds * 1000).toISOString();
  return isTime ? `${text.slice(0, 16).replace("T", " ")} UTC` : text.slice(0, 10);
}

/** A label on the time axis. Its form depends on whether it marks a year, a month, a day or a time. */
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
