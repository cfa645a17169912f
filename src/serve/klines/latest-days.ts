import type { TimeRange } from "../../core/time.js";
import { perRegion } from "../../db/market/region-sql.js";
import { fileRange } from "../../lake/files/prune.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { isRegion, REGIONS, type Region } from "../../market/regions.js";
import { dayRange, possibleEnds } from "../../market/sessions.js";
import { localDate } from "../../market/zone.js";
import type { LakeVersion } from "../read/lake-version.js";

/** The latest trading day by region: from local midnight to midnight. */
export type DaysOf = ReadonlyMap<Region, TimeRange>;

/**
 * The latest trading day of each region with minute bars: from local midnight to midnight. Bars of the future, which other
 * programs and earlier versions may have landed, make no day.
 *
 * @param now epoch milliseconds.
 */
export async function latestDays(
  version: LakeVersion,
  snapshot: Snapshot,
  now: number,
): Promise<Map<Region, TimeRange>> {
  const ends = possibleEnds(now, true);
  const newest = new Map<Region, number>();
  const note = (region: string | null | undefined, timestamp: number): void => {
    if (!region || !isRegion(region)) return;
    newest.set(region, Math.max(newest.get(region) ?? Number.NEGATIVE_INFINITY, timestamp));
  };
  const silent: DataFile[] = [];
  for (const file of snapshot.files.values()) {
    const { region } = file.partitionValues;
    const { start } = fileRange(file);
    const possibleEnd = region && isRegion(region) ? ends[region] : Number.POSITIVE_INFINITY;
    if (start >= possibleEnd) continue;
    const newestTime = Date.parse(file.stats?.maxValues?.timestamp ?? "");
    if (newestTime < possibleEnd) note(region, newestTime);
    else silent.push(file);
  }
  for (const { region, timestamp } of await newestIn(version, snapshot, silent, ends))
    note(region, timestamp);
  return new Map(
    [...newest].map(([region, timestamp]) => [
      region,
      dayRange(region, localDate(timestamp, REGIONS[region].zone)),
    ]),
  );
}

/** Reads the newest bar in files for which the log has no statistics, or that have bars of the future, too. */
async function newestIn(
  version: LakeVersion,
  snapshot: Snapshot,
  files: readonly DataFile[],
  ends: Readonly<Record<Region, number>>,
): Promise<{ region: string; timestamp: number }[]> {
  if (files.length === 0) return [];
  return version.query(async (session) => {
    const relation = await version.relation(session, snapshot, files);
    return session.json(
      `SELECT region, CAST(epoch_ms(max("timestamp")) AS DOUBLE) AS "timestamp" FROM (${relation})
       WHERE epoch_ms("timestamp") < ${perRegion("region", ({ region }) => String(ends[region]))} GROUP BY region`,
    );
  });
}
