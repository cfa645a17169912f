import { DAY_MS } from "../../../core/time.js";
import { statedTimes } from "../../../lake/files/prune.js";
import type { Lake } from "../../../lake/lake.js";
import type { DataFile } from "../../../lake/log/snapshot.js";
import { BARS_1D } from "../../../schema/bars.js";
import type { Manifest } from "../files/manifest.js";

/** Selects the files of daily bars that a dataset was not built from. */
export async function barsSince(lake: Lake, { tables }: Manifest): Promise<(file: DataFile) => boolean> {
  const version = tables[BARS_1D.name] ?? -1;
  if (version < 0) return () => true;
  const { files } = await lake.snapshotAt(BARS_1D, { versions: new Map([[BARS_1D.name, version]]) });
  return ({ path }) => !files.has(path);
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
