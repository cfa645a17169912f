import { MINUTE_MS, type TimeRange } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import { finalEnd, nextFinal } from "../../market/sessions.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { LakeView } from "../read/lake-reader.js";
import { versionsOf } from "../read/lake-version.js";

/**
 * A period of replayed time in which the bars of a region's quotes change only by new minutes of the latest day: no day
 * becomes final, and no new day begins.
 */
export interface DaySegment {
  /** The versions of the tables of bars. */
  readonly versions: string;
  /** Identifies the period: two periods of a region with the same key are the same. */
  readonly key: string;
  /** The latest day with minutes if it is not final: its minutes then make a daily bar. Else undefined. */
  readonly runningDay: TimeRange | undefined;
  /** The first whole minute that may belong to another period, in epoch milliseconds; infinity where there is none. */
  readonly end: number;
}

/** The period of a region that contains the as-of time of a view. */
export async function daySegment(view: LakeView, region: Region): Promise<DaySegment> {
  const until = view.version.visibleUntil ?? view.now;
  const [versions, days] = [await barVersions(view), await view.latestDays()];
  const final = finalEnd(region, until);
  const day = days.get(region);
  const end = Math.min(await view.nextDay(region), nextFinal(region, until));
  return {
    versions,
    key: `${versions} ${day?.start} ${final}`,
    runningDay: day !== undefined && day.start >= final ? day : undefined,
    end: Math.ceil(end / MINUTE_MS) * MINUTE_MS,
  };
}

/** The versions of the tables of bars that a view reads. */
export async function barVersions({ version }: LakeView): Promise<string> {
  return versionsOf([await version.snapshot(BARS_1D), await version.snapshot(BARS_1M)]);
}
