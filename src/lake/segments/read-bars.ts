import { setImmediate } from "node:timers/promises";
import { compareText } from "../../core/text-order.js";
import { DAY_MS, epochDay } from "../../core/time.js";
import { isRegion, type Region } from "../../market/regions.js";
import { isSymbol, regionOf } from "../../market/symbol.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import { hashInName, isInItsFolder } from "../files/data-file.js";
import { partitionDates, rowsOfFiles, statedBounds } from "../files/prune.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import {
  type Bars,
  type BarsDemand,
  type BarsRange,
  type BarsRun,
  BLOCK_COLUMNS,
  CHOOSE_BY,
  columnOffsets,
  firstRowFrom,
  TargetColumn,
} from "./block.js";
import { type BlockThread, type ReadBlocks, ThreadEnded } from "./block-thread.js";
import type { SegmentCache } from "./segment-cache.js";
import { DamagedSegment, type SegmentFile } from "./segment-file.js";

/** A data file, and the days that its partition permits for its bars. */
interface PlannedFile {
  readonly file: DataFile;
  /** Days since 1970-01-01; `nextDay` is exclusive. */
  readonly firstDay: number;
  readonly nextDay: number;
  /** The first day as the partition states it: a year, or the first day of a month. */
  readonly partition: number;
  /** The least and the greatest symbol of the file; undefined where the log does not state them. */
  readonly symbols: { readonly min: string; readonly max: string } | undefined;
}

/** The files of a table of bars by region, each list in the order of the partitions. */
type SegmentPlan = ReadonlyMap<Region, readonly PlannedFile[]>;

const PLANS = new WeakMap<Snapshot, { readonly plan: SegmentPlan | undefined }>();

/**
 * Plans how bars of a version of a table are read from segments.
 *
 * @returns undefined where only the view can return the rows: for tables without bars, for columns that another program
 *   or another version of this one has added, and for files of other programs.
 */
export function segmentPlan(snapshot: Snapshot): SegmentPlan | undefined {
  const known = PLANS.get(snapshot);
  if (known !== undefined) return known.plan;
  const plan = planOf(snapshot);
  PLANS.set(snapshot, { plan });
  return plan;
}

function planOf({ table, columns, files }: Snapshot): SegmentPlan | undefined {
  const { span } = table;
  if ((table !== BARS_1D && table !== BARS_1M) || span === undefined) return undefined;
  const isDeclared =
    columns.length === table.columns.length &&
    columns.every(
      ({ name, type }, at) => name === table.columns[at]?.name && type === table.columns[at]?.type,
    );
  if (!isDeclared) return undefined;
  const plan = new Map<Region, PlannedFile[]>();
  for (const file of files.values()) {
    const region = file.partitionValues.region ?? "";
    const dates = partitionDates(span, file);
    if (dates === undefined || !isRegion(region)) return undefined;
    if (hashInName(file.path) === undefined || !isInItsFolder(table, file)) return undefined;
    const symbols = statedBounds(file, "symbol");
    // Bars of a symbol are searched for only in the files of the symbol's region, while the view finds them in any
    // file.
    if (symbols && !(isOfRegion(symbols.min, region) && isOfRegion(symbols.max, region))) return undefined;
    const [firstDay, nextDay] = [epochDay(dates.first), epochDay(dates.next)];
    const partition = span.unit === "year" ? Number(dates.first.slice(0, 4)) : firstDay;
    const own = plan.get(region) ?? [];
    own.push({ file, firstDay, nextDay, partition, symbols });
    plan.set(region, own);
  }
  for (const own of plan.values())
    own.sort((a, b) => a.firstDay - b.firstDay || compareText(a.file.path, b.file.path));
  return plan;
}

function isOfRegion(symbol: string, region: Region): boolean {
  return isSymbol(symbol) && regionOf(symbol) === region;
}

interface Part {
  readonly symbol: string;
  readonly region: string;
  readonly planned: PlannedFile;
  readonly segment: SegmentFile;
  readonly entry: number;
  readonly range: BarsRange;
}

/** To look for a symbol in a segment, and to read a small block, takes as long as to read this number of bytes. */
const LOOK_BYTES = 2 ** 13;
/** Bytes that are read before the event loop can run other work; reading them takes half a millisecond. */
const TURN_BYTES = 2 ** 20;

/** The least number of bytes that a thread reads: a message to it and back takes some 50 microseconds. */
const THREAD_BYTES = 2 ** 19;

/** The first and last day, or instant, of a block. */
function endsOf({ segment: { index }, entry }: Part, by: "day" | "time"): readonly [number, number] {
  const [firsts, lasts] =
    by === "day" ? [index.firstDays, index.lastDays] : [index.firstTimes, index.lastTimes];
  return [firsts[entry] as number, lasts[entry] as number];
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

class DamagedPart extends Error {
  readonly file: DataFile;

  constructor(file: DataFile, cause: unknown) {
    super("a damaged segment", { cause });
    this.file = file;
  }
}

/**
 * @param thread reads them where they are many bytes.
 * @throws {DamagedPart} where a block is not what was written, or cannot be read.
 */
async function readParts(parts: readonly Part[], demand: BarsDemand, thread?: BlockThread): Promise<Bars> {
  const expected = expectedRows(parts, demand.by);
  const columns = new Map<string, TargetColumn>();
  for (const [index, { name }] of BLOCK_COLUMNS.entries())
    if (demand.columns.has(name)) columns.set(name, new TargetColumn(index, expected, demand.take));
  const targets = [...columns.values()];
  const runs: BarsRun[] = [];
  let at = 0;
  await visitBlocks(parts, thread, (part, block) => {
    const { segment, entry, symbol, region, planned } = part;
    const total = segment.index.rows[entry] as number;
    const offsets = columnOffsets(block, total);
    if (offsets.at(-1) !== block.length) throw new DamagedPart(planned.file, undefined);
    const { from, end } = rowsWithin(part, block, offsets[CHOOSE_BY[demand.by]] as number, total, demand.by);
    const count = end - from;
    for (const target of targets)
      target.take(block, offsets[target.index] as number, total, { from, count, at });
    runs.push({ symbol, region, partition: planned.partition, rows: count });
    at += count;
  });
  for (const target of targets) target.end(at);
  return { rows: at, runs, columns };
}

/** @param block is valid during the call. */
type VisitBlock = (part: Part, block: Uint8Array) => void;

/** Reads the block of each part, in the order of the parts. After each turn, the event loop can run other work. */
async function visitBlocks(
  parts: readonly Part[],
  thread: BlockThread | undefined,
  visit: VisitBlock,
): Promise<void> {
  const turns = turnsOf(parts);
  const bytes = parts.reduce((sum, { segment, entry }) => sum + (segment.index.lengths[entry] as number), 0);
  if (thread?.hasEnded === false && bytes >= THREAD_BYTES) return visitOfThread(turns, thread, visit);
  for (const [index, turn] of turns.entries()) {
    if (index > 0) await setImmediate();
    for (const part of turn) visit(part, blockOf(part));
  }
}

/** The thread reads the blocks of the next turn while those of a turn are visited. */
async function visitOfThread(
  turns: readonly (readonly Part[])[],
  thread: BlockThread,
  visit: VisitBlock,
): Promise<void> {
  const read = (turn: readonly Part[]): Promise<ReadBlocks> => {
    const blocks = thread.read(turn.map(({ segment, entry }) => segment.placeOf(entry)));
    // Where it fails while an earlier turn is visited, nothing waits for it yet.
    blocks.catch(() => {});
    return blocks;
  };
  let next = turns[0] && read(turns[0]);
  try {
    for (const [index, turn] of turns.entries()) {
      const blocks = (await next) as ReadBlocks;
      const following = turns[index + 1];
      next = following && read(following);
      const failed = turn[blocks.failed];
      if (failed !== undefined)
        throw new DamagedPart(
          failed.planned.file,
          new DamagedSegment(`block ${failed.entry}: ${blocks.reason}`),
        );
      let offset = 0;
      for (const part of turn) {
        const length = part.segment.index.lengths[part.entry] as number;
        visit(part, new Uint8Array(blocks.memory, offset, length));
        offset += length;
      }
      thread.giveBack(blocks);
    }
  } finally {
    // The segments remain open as long as the thread reads them.
    await next?.catch(() => {});
  }
}

/** Parts in groups of at most {@link TURN_BYTES}, or of one part. */
function turnsOf(parts: readonly Part[]): Part[][] {
  const turns: Part[][] = [];
  let bytes = TURN_BYTES;
  for (const part of parts) {
    const own = (part.segment.index.lengths[part.entry] as number) + LOOK_BYTES;
    if (bytes + own > TURN_BYTES) {
      turns.push([]);
      bytes = 0;
    }
    (turns.at(-1) as Part[]).push(part);
    bytes += own;
  }
  return turns;
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

/**
 * The bars of a demand, or the data files whose segments are missing for it, newest first. Both are absent where only
 * the view can return the rows.
 */
interface FoundBars {
  readonly bars?: Bars;
  readonly missing?: readonly DataFile[];
  readonly isPartial?: boolean;
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
/**
 * For estimating blocks of segments that do not exist: bytes of a bar, and among how many symbols a file is divided.
 */
const BAR_BYTES = 60;
const MANY_SYMBOLS = 5000;
/** Most symbols that are looked for in a segment before the event loop can run other work: about 4 ms. */
const LOOKS_A_TURN = 4096;

/** Reads bars of one version of a table from its segments. @param thread reads the blocks of large results. */
export async function readBars(
  cache: SegmentCache,
  snapshot: Snapshot,
  demand: BarsDemand,
  thread?: BlockThread,
): Promise<FoundBars> {
  const plan = segmentPlan(snapshot);
  if (plan === undefined) return {};
  using _ = cache.beginRead();
  const found = await findParts(cache, snapshot, plan, demand);
  if (found === undefined) return {};
  const { parts, missing, isPartial } = found;
  if (missing.length > 0) return { missing, isPartial };
  if (rowsOf(parts) > MOST_ROWS || !isInOrder(parts)) return {};
  try {
    return { bars: await readParts(parts, demand, thread) };
  } catch (error) {
    if (error instanceof ThreadEnded) return readBars(cache, snapshot, demand);
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
async function findParts(
  cache: SegmentCache,
  snapshot: Snapshot,
  plan: SegmentPlan,
  { symbols, by, rangeOf, share = 1 }: BarsDemand,
): Promise<FoundParts | undefined> {
  const parts: Part[] = [];
  let [bytes, looks] = [0, 0];
  const segments = new Map<PlannedFile, SegmentFile | undefined>();
  for (const symbol of symbols) {
    if (looks > LOOKS_A_TURN) {
      looks = 0;
      await setImmediate();
    }
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
      looks += 1;
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

function firstTime({ segment, entry }: Part): number {
  return segment.index.firstTimes[entry] as number;
}

/** The number of rows of blocks, including rows that are not in the range of a demand. */
function rowsOf(parts: readonly Part[]): number {
  return parts.reduce((sum, { segment, entry }) => sum + (segment.index.rows[entry] as number), 0);
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
