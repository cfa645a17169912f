import { BARS_1M } from "../../schema/bars.js";
import { hashInName } from "../files/data-file.js";
import { partitionDates, rowsOfFiles } from "../files/prune.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { maxBytesOf, type SegmentPlace } from "../segments/segment-folder.js";

/** Estimated bytes of a minute in the copy. */
export const MINUTE_BYTES = 24;
/** The part of the space of all segments and copies that the minutes of one lake may take. */
const SHARE = 1 / 8;
/**
 * Milliseconds after its newest file from which a month is copied. Without this limit, a lake in which minutes land
 * throughout the day would have its whole copy built again after each of them.
 */
const SETTLED_MS = 3_600_000;

/** Files of a table. */
export interface CopiedFiles {
  readonly snapshot: Snapshot;
  readonly files: readonly DataFile[];
}

interface Month {
  readonly first: string;
  readonly files: DataFile[];
}

/**
 * The files of minutes whose rows are in the copy for SQL: consecutive months without new files, the newest first, as
 * far as the space permits.
 *
 * @param now epoch milliseconds.
 * @returns undefined where there are none, or where another program wrote a file: its rows may be of any month.
 */
export function copiedMonths(
  snapshots: readonly Snapshot[],
  place: SegmentPlace,
  now: number,
): CopiedFiles | undefined {
  const snapshot = snapshots.find(({ table }) => table.name === BARS_1M.name);
  const months = snapshot && monthsOf(snapshot);
  if (snapshot === undefined || months === undefined) return undefined;
  const isSettled = ({ files }: Month): boolean =>
    files.every(({ writtenAt }) => writtenAt <= now - SETTLED_MS);
  const newest = months.findIndex(isSettled);
  if (newest < 0) return undefined;
  const copied: DataFile[] = [];
  let rows = (maxBytesOf(place) * SHARE) / MINUTE_BYTES;
  for (const month of months.slice(newest)) {
    rows -= rowsOfFiles(month.files);
    if (rows < 0 || !isSettled(month)) break;
    copied.push(...month.files);
  }
  return copied.length === 0 ? undefined : { snapshot, files: copied };
}

/** The files of each month of all regions, the newest month first; undefined where a file's month is not known. */
function monthsOf({ table: { span }, files }: Snapshot): Month[] | undefined {
  if (span === undefined) return undefined;
  const byFirst = new Map<string, Month>();
  for (const file of files.values()) {
    const dates = partitionDates(span, file);
    if (dates === undefined || hashInName(file.path) === undefined) return undefined;
    const month = byFirst.get(dates.first) ?? { first: dates.first, files: [] };
    month.files.push(file);
    byFirst.set(dates.first, month);
  }
  return [...byFirst.values()].sort((a, b) => (a.first < b.first ? 1 : -1));
}
