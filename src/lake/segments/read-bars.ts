import { setImmediate } from "node:timers/promises";
import { DAY_MS } from "../../core/time.js";
import { regionOf } from "../../market/symbol.js";
import { rowsOfFiles } from "../files/prune.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { BLOCK_COLUMNS, CHOOSE_BY, columnOffsets, firstRowFrom, TargetColumn } from "./block.js";
import type { SegmentCache } from "./segment-cache.js";
import { DamagedSegment, type SegmentFile } from "./segment-file.js";
import { type PlannedFile, type SegmentPlan, segmentPlan } from "./segment-plan.js";

/** A range of trading dates (days since 1970-01-01) or of instants (epoch microseconds); `to` is exclusive. */
export interface BarsRange {
  readonly from: number;
  readonly to: number;
}

/** Which bars of a table are read. */
export interface BarsDemand {
  /** The symbols, without repeats. The result is in their order. */
  readonly symbols: readonly string[];
  /** Whether the ranges are of trading dates or of instants. */
  readonly by: "day" | "time";
  readonly rangeOf: (symbol: string) => BarsRange;
  /** The share of a larger result that this one is: it may read this share of the most bytes. @default 1 */
  readonly share?: number;
  /** Names of stored columns. */
  readonly columns: ReadonlySet<string>;
  /** Returns memory of at least a number of bytes for a column. @default new memory */
  readonly take?: ((bytes: number) => ArrayBuffer) | undefined;
}

/** Consecutive rows of one symbol and one partition. */
export interface BarsRun {
  readonly symbol: string;
  readonly region: string;
  /** The year, or the first day of the month in days since 1970-01-01. */
  readonly partition: number;
  readonly rows: number;
}

/** Bars in the order of the demand's symbols and, for each symbol, of time. */
export interface Bars {
  readonly rows: number;
  readonly runs: readonly BarsRun[];
  /** The requested columns, with space for `rows` values or more. */
  readonly columns: ReadonlyMap<string, TargetColumn>;
}

/**
 * The bars of a demand, or the data files whose segments are missing for it, newest first. Both are absent where only
 * the view can return the rows.
 */
export interface FoundBars {
  readonly bars?: Bars;
  readonly missing?: readonly DataFile[];
  /** Whether some of the files have segments. */
  readonly isPartial?: boolean;
}

/** A block to read. */
interface Part {
  readonly symbol: string;
  readonly region: string;
  readonly planned: PlannedFile;
  readonly segment: SegmentFile;
  readonly entry: number;
  readonly range: BarsRange;
}

const DAY_US = DAY_MS * 1000;

/**
 * Most rows of a result, which is one record batch. DuckDB returns larger results in many batches, and uses all cores.
 */
const MOST_ROWS = 2 ** 24;
/**
 * Most bytes of blocks that are read for a result: it takes about half a second. DuckDB uses all cores, and is quicker
 * for larger results.
 */
const MOST_BYTES = 2 ** 29;
/** To look for a symbol in a segment, and to read a small block, takes as long as to read this number of bytes. */
const LOOK_BYTES = 2 ** 13;
/**
 * For estimating blocks of segments that do not exist: bytes of a bar, and among how many symbols a file is divided.
 */
const BAR_BYTES = 60;
const MANY_SYMBOLS = 5000;
/** Bytes that are read before the event loop can run other work; reading them takes half a millisecond. */
const TURN_BYTES = 2 ** 20;

/** Reads bars of one version of a table from its segments. */
export async function readBars(
  cache: SegmentCache,
  snapshot: Snapshot,
  demand: BarsDemand,
): Promise<FoundBars> {
  const plan = segmentPlan(snapshot);
  if (plan === undefined) return {};
  using _ = cache.beginRead();
  const found = findParts(cache, snapshot, plan, demand);
  if (found === undefined) return {};
  const { parts, missing, isPartial } = found;
  if (missing.length > 0) return { missing, isPartial };
  if (rowsOf(parts) > MOST_ROWS || !isInOrder(parts)) return {};
  try {
    return { bars: await readParts(parts, demand) };
  } catch (error) {
    if (!(error instanceof DamagedPart)) throw error;
    cache.discard(snapshot, error.file);
    return { missing: [error.file], isPartial: true };
  }
}

/** The blocks of a demand, by symbol and time, and the files without a segment. */
interface FoundParts {
  readonly parts: readonly Part[];
  readonly missing: readonly DataFile[];
  readonly isPartial: boolean;
}

/**
 * Finds the blocks of a demand; undefined where they are too many, or in more segments than may be open at the same
 * time.
 */
function findParts(
  cache: SegmentCache,
  snapshot: Snapshot,
  plan: SegmentPlan,
  { symbols, by, rangeOf, share = 1 }: BarsDemand,
): FoundParts | undefined {
  const parts: Part[] = [];
  let bytes = 0;
  const segments = new Map<PlannedFile, SegmentFile | undefined>();
  for (const symbol of symbols) {
    const region = regionOf(symbol);
    const range = rangeOf(symbol);
    const days = by === "day" ? range : daysAround(range);
    const own: Part[] = [];
    for (const planned of (region && plan.get(region)) ?? []) {
      if (planned.nextDay <= days.from || planned.firstDay >= days.to) continue;
      if (planned.symbols && (symbol < planned.symbols.min || symbol > planned.symbols.max)) continue;
      if (!segments.has(planned)) segments.set(planned, cache.find(snapshot, planned.file));
      if (segments.size > cache.mostOpen) return undefined;
      const segment = segments.get(planned);
      bytes += LOOK_BYTES;
      if (bytes > MOST_BYTES * share) return undefined;
      if (segment === undefined) {
        bytes += expectedBytes(planned, days);
        continue;
      }
      const { first, end } = segment.entriesOf(symbol);
      for (let entry = first; entry < end; entry++) {
        const part = { symbol, region: region as string, planned, segment, entry, range };
        const [from, last] = endsOf(part, by);
        if (last < range.from || from >= range.to) continue;
        own.push(part);
        bytes += segment.index.lengths[entry] as number;
      }
    }
    if (own.length > 1) own.sort((a, b) => firstTime(a) - firstTime(b));
    for (const part of own) parts.push(part);
  }
  const missing = [...segments].filter(([, segment]) => segment === undefined).map(([{ file }]) => file);
  return { parts, missing: missing.reverse(), isPartial: missing.length < segments.size };
}

/**
 * The trading dates to which instants in a range can belong: a trading date differs from the UTC date by at most a day.
 */
function daysAround({ from, to }: BarsRange): BarsRange {
  return { from: Math.floor(from / DAY_US) - 1, to: Math.ceil(to / DAY_US) + 1 };
}

/** About how many bytes the blocks of a symbol in a segment that does not exist would have. */
function expectedBytes({ file, firstDay, nextDay }: PlannedFile, { from, to }: BarsRange): number {
  const days = Math.min(to, nextDay) - Math.max(from, firstDay);
  return (rowsOfFiles([file]) * (BAR_BYTES / MANY_SYMBOLS) * days) / (nextDay - firstDay);
}

/** The first and last day, or instant, of a block. */
function endsOf({ segment: { index }, entry }: Part, by: "day" | "time"): readonly [number, number] {
  const [firsts, lasts] =
    by === "day" ? [index.firstDays, index.lastDays] : [index.firstTimes, index.lastTimes];
  return [firsts[entry] as number, lasts[entry] as number];
}

function firstTime({ segment, entry }: Part): number {
  return segment.index.firstTimes[entry] as number;
}

/** The number of rows of blocks, including rows that are not in the range of a demand. */
function rowsOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { segment, entry }) => sum + (segment.index.rows[entry] as number), 0);
}

/** About how many rows are in the ranges of a demand: as if the rows of a block were spread evenly over its time. */
function expectedRows(parts: readonly Part[], by: "day" | "time"): number {
  let rows = 0;
  for (const part of parts) {
    const total = part.segment.index.rows[part.entry] as number;
    const [first, last] = endsOf(part, by);
    const { from, to } = part.range;
    const share = (Math.min(last, to) - Math.max(first, from)) / Math.max(1, last - first);
    rows += Math.min(total, Math.ceil(total * share) + 4);
  }
  return rows;
}

/**
 * Whether the blocks of each symbol do not overlap in time. Where files that landed late overlap others, DuckDB must
 * sort the rows.
 */
function isInOrder(parts: readonly Part[]): boolean {
  return parts.every((part, at) => {
    const before = parts[at - 1];
    if (before === undefined || before.symbol !== part.symbol) return true;
    const { lastTimes, lastDays } = before.segment.index;
    const firstDay = part.segment.index.firstDays[part.entry] as number;
    return (
      (lastTimes[before.entry] as number) < firstTime(part) && (lastDays[before.entry] as number) <= firstDay
    );
  });
}

/** The error for a damaged block, with the data file that it was made from. */
class DamagedPart extends Error {
  readonly file: DataFile;

  constructor(file: DataFile, cause: unknown) {
    super("a damaged segment", { cause });
    this.file = file;
  }
}

async function readParts(parts: readonly Part[], demand: BarsDemand): Promise<Bars> {
  const expected = expectedRows(parts, demand.by);
  const columns = new Map<string, TargetColumn>();
  for (const [index, { name }] of BLOCK_COLUMNS.entries())
    if (demand.columns.has(name)) columns.set(name, new TargetColumn(index, expected, demand.take));
  const targets = [...columns.values()];
  const runs: BarsRun[] = [];
  let [at, bytes] = [0, 0];
  for (const part of parts) {
    const { segment, entry, symbol, region, planned } = part;
    const total = segment.index.rows[entry] as number;
    const block = blockOf(part);
    const offsets = columnOffsets(block, total);
    if (offsets.at(-1) !== block.length) throw new DamagedPart(planned.file, undefined);
    const { from, end } = rowsWithin(part, block, offsets[CHOOSE_BY[demand.by]] as number, total, demand.by);
    const count = end - from;
    for (const target of targets)
      target.take(block, offsets[target.index] as number, total, { from, count, at });
    runs.push({ symbol, region, partition: planned.partition, rows: count });
    at += count;
    bytes += block.length + LOOK_BYTES;
    if (bytes < TURN_BYTES) continue;
    bytes = 0;
    await setImmediate();
  }
  for (const target of targets) target.end(at);
  return { rows: at, runs, columns };
}

function blockOf({ segment, entry, planned }: Part): Uint8Array {
  try {
    return segment.read(entry);
  } catch (cause) {
    throw cause instanceof DamagedSegment || isSystemError(cause)
      ? new DamagedPart(planned.file, cause)
      : cause;
  }
}

function isSystemError(error: unknown): boolean {
  return typeof (error as NodeJS.ErrnoException).code === "string";
}

/** The rows of a block that are in the demand's range of its symbol. */
function rowsWithin(
  part: Part,
  block: Uint8Array,
  offset: number,
  total: number,
  by: "day" | "time",
): { readonly from: number; readonly end: number } {
  const { range } = part;
  const [first, last] = endsOf(part, by);
  const from = first >= range.from ? 0 : firstRowFrom(block, offset, total, by, range.from);
  const end = last < range.to ? total : firstRowFrom(block, offset, total, by, range.to);
  return { from, end: Math.max(from, end) };
}
