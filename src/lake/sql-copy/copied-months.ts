import { REGION_NAMES } from "../../market/regions.js";
import { BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { hashInName } from "../files/data-file.js";
import { partitionDates, rowsOfFiles } from "../files/prune.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { maxBytesOf, type SegmentPlace } from "../segments/segment-folder.js";
import type { KnownMinutes } from "./aggregated-minutes.js";

/** Estimated bytes of a minute in the copy, with its part of the bars of longer periods. */
export const MINUTE_BYTES = 36;
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

/** The files of a month of minutes, of all regions. */
export interface Month {
  /** The first trading date of the month. */
  readonly first: string;
  /** The first one of the next month. */
  readonly next: string;
  readonly files: readonly DataFile[];
}

/** Most bytes of the minutes of one lake at a place. */
export function maxMinuteBytes(place: SegmentPlace): number {
  return maxBytesOf(place) * SHARE;
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
  const months = snapshot && monthsOfTable(snapshot);
  if (snapshot === undefined || months === undefined) return undefined;
  const isSettled = ({ files }: Month): boolean =>
    files.every(({ writtenAt }) => writtenAt <= now - SETTLED_MS);
  const newest = months.findIndex(isSettled);
  if (newest < 0) return undefined;
  const copied: DataFile[] = [];
  let rows = maxMinuteBytes(place) / MINUTE_BYTES;
  for (const month of months.slice(newest)) {
    rows -= rowsOfFiles(month.files);
    if (rows < 0 || !isSettled(month)) break;
    copied.push(...month.files);
  }
  return copied.length === 0 ? undefined : { snapshot, files: copied };
}

/**
 * When the months that are copied may change although the lake does not: the next time at which a month becomes one
 * without new files, in epoch milliseconds; infinity where each of them is.
 */
export function nextSettlement(snapshots: readonly Snapshot[], now: number): number {
  const snapshot = snapshots.find(({ table }) => table.name === BARS_1M.name);
  const months = (snapshot && monthsOfTable(snapshot)) ?? [];
  const times = months.map(({ files }) => Math.max(...files.map(({ writtenAt }) => writtenAt)) + SETTLED_MS);
  return Math.min(...times.filter((time) => time > now));
}

/** What the partitions of minutes say about all of them; nothing of files that another program wrote. */
export function knownMinutes(snapshot: Snapshot): KnownMinutes {
  const since = monthsOfTable(snapshot)?.at(-1)?.first ?? "";
  const names = [...snapshot.files.values()].map(({ partitionValues }) => partitionValues.region);
  const isKnown = since !== "" && names.every((name) => REGION_NAMES.some((region) => region === name));
  return { since, regions: isKnown ? REGION_NAMES.filter((region) => names.includes(region)) : REGION_NAMES };
}

const monthsOfSnapshots = new WeakMap<Snapshot, readonly Month[] | undefined>();

/** As {@link monthsOf}, of all files of a table: a table may have thousands, and each reader asks for them. */
function monthsOfTable(snapshot: Snapshot): readonly Month[] | undefined {
  if (!monthsOfSnapshots.has(snapshot))
    monthsOfSnapshots.set(snapshot, monthsOf(snapshot.table, snapshot.files.values()));
  return monthsOfSnapshots.get(snapshot);
}

/** The files of each month of all regions, the newest month first; undefined where a file's month is not known. */
export function monthsOf({ span }: TableSchema, files: Iterable<DataFile>): Month[] | undefined {
  if (span === undefined) return undefined;
  const byFirst = new Map<string, Month & { readonly files: DataFile[] }>();
  for (const file of files) {
    const dates = partitionDates(span, file);
    if (dates === undefined || hashInName(file.path) === undefined) return undefined;
    const month = byFirst.get(dates.first) ?? { ...dates, files: [] };
    month.files.push(file);
    byFirst.set(dates.first, month);
  }
  return [...byFirst.values()].sort((a, b) => (a.first < b.first ? 1 : -1));
}
