import { LakeError } from "../../core/errors.js";
import type { TimeRange, TradingDate } from "../../core/time.js";
import { fileRange } from "../../lake/files/prune.js";
import type { Lake, PointInTime } from "../../lake/lake.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { dayRange } from "../../market/sessions.js";
import { localDate } from "../../market/zone.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";

/** The times and regions of a lake that can be replayed. */
export interface ReplayRange {
  /** From the first day with a bar to the end of the last one, epoch milliseconds. */
  readonly range: TimeRange;
  /** Regions with bars, and the newest day of each one, by the calendar of its exchanges. */
  readonly regions: ReadonlyMap<Region, TradingDate>;
}

/**
 * Finds the times for which a lake has bars.
 *
 * @param now bars after this instant are in the future (epoch milliseconds), and are left out. @default none is
 * @throws {LakeError} for a lake without bars.
 */
export async function replayRange(
  lake: Lake,
  pointInTime: PointInTime,
  now = Number.POSITIVE_INFINITY,
): Promise<ReplayRange> {
  const read = lake.reader(pointInTime);
  const range = { start: Number.POSITIVE_INFINITY, end: Number.NEGATIVE_INFINITY };
  const regions = new Map<Region, TradingDate>();
  for (const table of [BARS_1D, BARS_1M]) {
    for (const file of (await read(table)).files.values()) {
      const region = Object.values(REGIONS).find((one) => one.region === file.partitionValues.region);
      const { start, end } = fileRange(file);
      if (region === undefined || !Number.isFinite(start) || !Number.isFinite(end)) continue;
      if (start > now) continue;
      const [first, last] = [localDate(start, region.zone), localDate(Math.min(end - 1, now), region.zone)];
      const newest = regions.get(region.region);
      if (newest === undefined || last > newest) regions.set(region.region, last);
      range.start = Math.min(range.start, dayRange(region.region, first).start);
      range.end = Math.max(range.end, dayRange(region.region, last).end);
    }
  }
  if (regions.size === 0)
    throw new LakeError(`lake ${lake.location} has no bars to replay`, {
      hint: "run the pipeline daily first",
    });
  return { range, regions };
}
