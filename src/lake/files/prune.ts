import { lowerBound } from "../../core/lower-bound.js";
import { compareText } from "../../core/text-order.js";
import { parseTradingDate, type TimeRange, type TradingDate } from "../../core/time.js";
import type { KnownAt } from "../../market/known-at.js";
import { isRegion, REGION_NAMES, REGIONS, type Region } from "../../market/regions.js";
import { addDays, finalEnd } from "../../market/sessions.js";
import { instantOf } from "../../market/zone.js";
import type { PartitionSpan } from "../../schema/column.js";
import type { StagedPartition, StagedRows } from "../land/staged-rows.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { hashInName } from "./data-file.js";

/**
 * What the log and the partition say about a file's rows, and which files a read or a landing can skip because of it.
 * Missing statistics never exclude a file.
 */

/** The least and the greatest value of a column, in the text form of the log's statistics. */
interface TextBounds {
  readonly min: string;
  readonly max: string;
}

/** The bounds of a column in a file's statistics; undefined where one of them is missing. */
export function statedBounds({ stats }: DataFile, column: string): TextBounds | undefined {
  const min = stats?.minValues?.[column];
  const max = stats?.maxValues?.[column];
  return min === undefined || max === undefined ? undefined : { min, max };
}

/**
 * The range of a timestamp column in a file's statistics, in epoch milliseconds, `end` exclusive; undefined where they
 * do not state it.
 */
export function statedTimes(file: DataFile, column: string): TimeRange | undefined {
  const bounds = statedBounds(file, column);
  if (bounds === undefined) return undefined;
  // Other writers truncate a maximum to whole milliseconds. One millisecond is added, so that `end` is after all rows.
  const [start, end] = [Date.parse(bounds.min), Date.parse(bounds.max) + 1];
  return Number.isNaN(start) || Number.isNaN(end) ? undefined : { start, end };
}

/** The dates that a file's partition permits for its rows: from `first`, inclusive, to `next`, exclusive. */
interface PartitionDates {
  readonly first: TradingDate;
  /** Exclusive. */
  readonly next: TradingDate;
}

/** The dates of a file's partition; undefined where the partition's value is null or in another writer's form. */
export function partitionDates(
  { partition, unit }: Pick<PartitionSpan, "partition" | "unit">,
  { partitionValues }: DataFile,
): PartitionDates | undefined {
  const value = partitionValues[partition] ?? "";
  try {
    if (unit === "month" && /^\d{4}-\d{2}-01$/.test(value)) {
      const first = parseTradingDate(value);
      return { first, next: parseTradingDate(`${addDays(first, 31).slice(0, 7)}-01`) };
    }
    if (unit === "year" && /^\d{4}$/.test(value)) {
      const next = String(Number(value) + 1).padStart(4, "0");
      return { first: parseTradingDate(`${value}-01-01`), next: parseTradingDate(`${next}-01-01`) };
    }
  } catch {
    // The value is not a date, such as 2024-13-01, or is the year 9999, after which there is no next one.
  }
  return undefined;
}

/**
 * The range of dates of all rows of a file: that of its partition. Another program may have written rows with other
 * dates, or with none, so for its files only the statistics count.
 *
 * @param dates the partition's dates, for callers with many files of one partition.
 * @returns undefined where the range is not known.
 */
export function rowDates(
  span: PartitionSpan,
  file: DataFile,
  dates = partitionDates(span, file),
): PartitionDates | undefined {
  if (dates === undefined || hashInName(file.path) !== undefined) return dates;
  const stated = statedBounds(file, span.date);
  const isShown =
    stated !== undefined &&
    file.stats?.nullCount?.[span.date] === 0 &&
    compareText(stated.min, dates.first) >= 0 &&
    compareText(stated.max, dates.next) < 0;
  return isShown ? dates : undefined;
}

/** Cached ranges by file: every request needs the range of each file in the log. */
const RANGES = new WeakMap<DataFile, TimeRange>();

/**
 * The range of timestamps that a file of bars can have, in epoch milliseconds with `end` exclusive: from the
 * statistics, else from the partition; unbounded where both are missing.
 */
export function fileRange(file: DataFile): TimeRange {
  const known = RANGES.get(file);
  if (known !== undefined) return known;
  const range = statedTimes(file, "timestamp") ??
    partitionTimes(file) ?? { start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY };
  RANGES.set(file, range);
  return range;
}

/** The range of a file's partition: a bar's trading date is the local date of its timestamp. */
function partitionTimes(file: DataFile): TimeRange | undefined {
  const { region, month } = file.partitionValues;
  if (!region || !isRegion(region)) return undefined;
  const unit = month ? "month" : "year";
  const dates = rowDates({ partition: unit, unit, date: "trade_date" }, file);
  if (dates === undefined) return undefined;
  const { zone } = REGIONS[region];
  return { start: instantOf(dates.first, zone), end: instantOf(dates.next, zone) };
}

/** The files that may have minutes of days that are not final at a time. */
export function runningFiles({ files }: Pick<Snapshot, "files">, knownAt: KnownAt): DataFile[] {
  // At the end of a date no day is running.
  if (typeof knownAt !== "number") return [];
  return [...files.values()].filter((file) => {
    const { start, end } = fileRange(file);
    return start <= knownAt && end > runningSince(knownAt);
  });
}

/** The earliest instant (epoch milliseconds) of a day that is not final in some region. */
function runningSince(now: number): number {
  return Math.min(...REGION_NAMES.map((region) => finalEnd(region, now)));
}

/** What a query needs from a table: symbols of one region and, for bars, a range of timestamps. */
interface FileDemand {
  readonly region: Region;
  /** Ascending. */
  readonly symbols: readonly string[];
  /** Epoch milliseconds. @default all of time */
  readonly range?: TimeRange;
}

/** The files that could contain a row of at least one demand. */
export function selectFiles(files: Iterable<DataFile>, demands: readonly FileDemand[]): DataFile[] {
  return [...files].filter((file) => demands.some((demand) => couldHold(file, demand)));
}

function couldHold(file: DataFile, { region, symbols, range }: FileDemand): boolean {
  if (file.partitionValues.region !== region) return false;
  if (range !== undefined) {
    const { start, end } = fileRange(file);
    if (end <= range.start || start >= range.end) return false;
  }
  const bounds = statedBounds(file, "symbol");
  if (bounds === undefined) return true;
  // Requested symbols are ASCII: JavaScript orders them as the log does.
  const first = symbols[lowerBound(0, symbols.length, (at) => (symbols[at] as string) >= bounds.min)];
  return first !== undefined && first <= bounds.max;
}

/**
 * The files that could contain a key of staged rows: the same partition, and overlapping ranges in every key column
 * with statistics.
 */
export function overlappingFiles(files: Iterable<DataFile>, staged: StagedRows): DataFile[] {
  const parts = staged.partitions.map(boundsOf);
  const found: DataFile[] = [];
  for (const file of files) if (parts.some((part) => overlaps(file, part))) found.push(file);
  return found;
}

/**
 * The values and bounds of staged rows with which files are compared. They are computed once: a table may have very
 * many files.
 */
interface StagedBounds {
  readonly values: readonly (readonly [name: string, value: string])[];
  readonly ranges: readonly { readonly name: string; readonly min: string; readonly max: string }[];
}

function boundsOf({ values, min, max }: StagedPartition): StagedBounds {
  const ranges = Object.entries(min).map(([name, least]) => ({ name, min: least, max: max[name] as string }));
  return { values: Object.entries(values), ranges };
}

function overlaps(file: DataFile, { values, ranges }: StagedBounds): boolean {
  for (const [name, value] of values) if (file.partitionValues[name] !== value) return false;
  for (const { name, min, max } of ranges) {
    const bounds = statedBounds(file, name);
    if (bounds === undefined) continue;
    if (compareText(bounds.max, min) < 0 || compareText(bounds.min, max) > 0) return false;
  }
  return true;
}

/** The number of rows of files; infinity where the log does not have it. */
export function rowsOfFiles(files: Iterable<DataFile>): number {
  let rows = 0;
  for (const { stats } of files) rows += stats?.numRecords ?? Number.POSITIVE_INFINITY;
  return rows;
}
