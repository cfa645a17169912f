import { DAY_MS } from "../../../core/time.js";
import { statedTimes } from "../../../lake/files/prune.js";
import type { Lake } from "../../../lake/lake.js";
import type { DataFile, Snapshot } from "../../../lake/log/snapshot.js";
import { VersionGone } from "../../../lake/log/version-gone.js";
import { BARS_1D } from "../../../schema/bars.js";
import type { Manifest } from "../files/manifest.js";

/**
 * Selects the files of daily bars that a dataset was not built from; all where its version of them is gone.
 *
 * @param snapshots the tables that are read now. If the bars have the dataset's version still, none of their files is new.
 * @throws {Error} where the dataset's version may exist, and is not readable.
 */
export async function barsSince(
  lake: Lake,
  { tables }: Manifest,
  snapshots: readonly Snapshot[],
): Promise<(file: DataFile) => boolean> {
  const version = tables[BARS_1D.name] ?? -1;
  const now = snapshots.find(({ table }) => table === BARS_1D);
  if (now?.version === version) return () => false;
  if (version < 0) return () => true;
  const before = await lake
    .snapshotAt(BARS_1D, { versions: new Map([[BARS_1D.name, version]]) })
    .catch((error: unknown) => {
      if (error instanceof VersionGone) return undefined;
      throw error;
    });
  return ({ path }) => before?.files.has(path) !== true;
}

/**
 * Selects the files that may have bars of a day or of later ones. The time of a daily bar is the beginning of its date in the
 * zone of its region, less than a day from that in UTC.
 *
 * @param day as days since 1970-01-01.
 */
export function barsFrom(day: number): (file: DataFile) => boolean {
  return (file) => {
    const times = statedTimes(file, "timestamp");
    return times === undefined || times.end > (day - 1) * DAY_MS;
  };
}
