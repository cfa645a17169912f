import type { TimeRange } from "../../core/time.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { isRegion, REGIONS, type Region } from "../../market/regions.js";
import { dayRange } from "../../market/sessions.js";
import { localDate } from "../../market/zone.js";
import type { LakeVersion } from "../read/lake-version.js";

/** The latest trading day by region: from local midnight to midnight. */
export type DaysOf = ReadonlyMap<Region, TimeRange>;

/** The latest trading day of each region with bars in a table: from local midnight to midnight. */
export async function latestDays(version: LakeVersion, snapshot: Snapshot): Promise<Map<Region, TimeRange>> {
  const newest = new Map<Region, number>();
  const note = (region: string | null | undefined, timestamp: number): void => {
    if (!region || !isRegion(region)) return;
    newest.set(region, Math.max(newest.get(region) ?? Number.NEGATIVE_INFINITY, timestamp));
  };
  const silent: DataFile[] = [];
  for (const file of snapshot.files.values()) {
    const max = file.stats?.maxValues?.timestamp;
    if (max === undefined) silent.push(file);
    else note(file.partitionValues.region, Date.parse(max));
  }
  for (const { region, timestamp } of await newestIn(version, snapshot, silent)) note(region, timestamp);
  return new Map(
    [...newest].map(([region, timestamp]) => [
      region,
      dayRange(region, localDate(timestamp, REGIONS[region].zone)),
    ]),
  );
}

/** Reads the newest bar in files for which the log has no statistics. */
async function newestIn(
  version: LakeVersion,
  snapshot: Snapshot,
  files: readonly DataFile[],
): Promise<{ region: string; timestamp: number }[]> {
  if (files.length === 0) return [];
  return version.query(async (session) => {
    const relation = await version.relation(session, snapshot, files);
    return session.json(
      `SELECT region, CAST(epoch_ms(max("timestamp")) AS DOUBLE) AS "timestamp" FROM (${relation}) GROUP BY region`,
    );
  });
}
