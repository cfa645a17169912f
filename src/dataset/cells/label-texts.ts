import { TZDate } from "@date-fns/tz";
import { format } from "date-fns/format";
import { dateOfEpochDay } from "../../core/time.js";
import type { Labels } from "../panel/block.js";

/**
 * Labels as texts: dates as `2026-11-20`, minutes as `2026-11-20 09:31:00` in a zone.
 *
 * @returns a function that returns the text of a label by its index.
 */
export function labelTexts({ count, days, times }: Labels, zone: string): (label: number) => string {
  const texts = Array.from({ length: count }, (_, label) => {
    const time = times?.[label];
    return time === undefined
      ? dateOfEpochDay(days[label] as number)
      : format(new TZDate(time, zone), "yyyy-MM-dd HH:mm:ss");
  });
  return (label) => texts[label] as string;
}
