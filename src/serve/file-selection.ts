import { parseTradingDate, type TimeRange } from "../core/time.js";
import type { DataFile } from "../lake/snapshot.js";
import { isRegion, REGIONS, type Region } from "../market/regions.js";
import { addDays } from "../market/sessions.js";
import { instantOf } from "../market/zone.js";

/** What a query wants of a table: symbols of one region, and of bars a range of their timestamps. */
export interface FileDemand {
  readonly region: Region;
  /** Ascending. */
  readonly symbols: readonly string[];
  /** Epoch milliseconds. @default all of time */
  readonly range?: TimeRange;
}

/**
 * The files that could hold a wanted row, by partition values and statistics alone. What a file does not tell counts
 * as "could": nothing that is in the table is missed.
 */
export function selectFiles(files: Iterable<DataFile>, demands: readonly FileDemand[]): DataFile[] {
  return [...files].filter((file) => demands.some((demand) => couldHold(file, demand)));
}

/** Ranges by file: a log's files are asked for theirs at every request. */
const RANGES = new WeakMap<DataFile, TimeRange>();

/**
 * The range of timestamps that a file of bars can have, as tight as the log tells; unbounded where it tells nothing.
 * `end` is exclusive.
 */
export function fileRange(file: DataFile): TimeRange {
  const known = RANGES.get(file);
  if (known !== undefined) return known;
  const range = rangeToldOf(file);
  RANGES.set(file, range);
  return range;
}

function rangeToldOf(file: DataFile): TimeRange {
  const min = file.stats?.minValues?.timestamp;
  const max = file.stats?.maxValues?.timestamp;
  // Other writers cut a maximum to whole milliseconds: one more is the first instant that is surely later.
  if (min !== undefined && max !== undefined) return { start: Date.parse(min), end: Date.parse(max) + 1 };
  return partitionRange(file) ?? { start: Number.NEGATIVE_INFINITY, end: Number.POSITIVE_INFINITY };
}

function couldHold(file: DataFile, { region, symbols, range }: FileDemand): boolean {
  if (file.partitionValues.region !== region) return false;
  if (range !== undefined) {
    const { start, end } = fileRange(file);
    if (end <= range.start || start >= range.end) return false;
  }
  const min = file.stats?.minValues?.symbol;
  const max = file.stats?.maxValues?.symbol;
  if (min === undefined || max === undefined) return true;
  const first = symbols[firstNotBelow(symbols, min)];
  return first !== undefined && first <= max;
}

/** Index of the first symbol that is not below a bound; the length where all are. Symbols are ASCII. */
function firstNotBelow(symbols: readonly string[], bound: string): number {
  let low = 0;
  let high = symbols.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((symbols[middle] as string) < bound) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A partition holds the trading dates of a year or a month, and a bar's trading date is its timestamp's local date. */
function partitionRange({ partitionValues }: DataFile): TimeRange | undefined {
  const { region, year, month } = partitionValues;
  if (!region || !isRegion(region)) return undefined;
  const { zone } = REGIONS[region];
  if (month) {
    const first = parseTradingDate(month);
    const next = parseTradingDate(`${addDays(first, 31).slice(0, 7)}-01`);
    return { start: instantOf(first, zone), end: instantOf(next, zone) };
  }
  if (year && /^\d{4}$/.test(year)) {
    const next = String(Number(year) + 1).padStart(4, "0");
    return {
      start: instantOf(parseTradingDate(`${year}-01-01`), zone),
      end: instantOf(parseTradingDate(`${next}-01-01`), zone),
    };
  }
  return undefined;
}
