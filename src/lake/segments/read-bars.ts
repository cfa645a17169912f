import { setImmediate } from "node:timers/promises";
import { DAY_MS } from "../../core/time.js";
import { regionOf } from "../../market/symbol.js";
import { rowsOfFiles } from "../files/prune.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import type { Bars, BarsDemand, BarsRange } from "./bars.js";
import { type BlockThread, ThreadEnded } from "./block-thread.js";
import { DamagedPart, endsOf, LOOK_BYTES, type Part, readParts } from "./read-parts.js";
import type { SegmentCache } from "./segment-cache.js";
import type { SegmentFile } from "./segment-file.js";
import { type PlannedFile, type SegmentPlan, segmentPlan } from "./segment-plan.js";

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
