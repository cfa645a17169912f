import { DAY_MS, type TimeRange } from "../../../core/time.js";
import { fileRange, rowsOfFiles, statedBounds } from "../../../lake/files/prune.js";
import type { DataFile, Snapshot } from "../../../lake/log/snapshot.js";
import { regionOf } from "../../../market/symbol.js";
import { inBatches } from "../../../plan/request-units.js";
import type { BarRun } from "../bar-runs.js";
import { ALL_TIME } from "../requested-bars.js";
import { MINUTES_OF_A_DAY, type Series } from "../series.js";
import { type BarCache, type CachedRun, type NewestRun, newestIn } from "./bar-cache.js";
import { dayFinder, extendedDays, extendedRun } from "./extended-run.js";
import type { FileChanges } from "./file-history.js";
import { copyOf, RunBlocks } from "./run-memory.js";

/**
 * Most minutes that are read at the same time to make days from them, and most symbols whose minutes are read at the
 * same time where there may be more of them: a whole day of these has as many.
 */
const MOST_MINUTES = 120_000;
const MOST_SYMBOLS_OF_DAYS = 500;
/** Most bars of a symbol that remain cached when later bars are added, unless more are requested. */
const MOST_BARS = 1000;

/** Cached bars of an earlier version that a request needs. */
export interface EarlierBars {
  readonly cache: BarCache;
  /** The key of the bars: see {@link BarCache.find}. */
  readonly key: string;
  /** The version of the request, as the cache names it. */
  readonly version: string;
  readonly snapshot: Snapshot;
  readonly series: Series;
  readonly symbols: readonly string[];
  /** Whether volumes are in shares. Other volumes are rounded, so minutes cannot be added to them. */
  readonly isInShares: boolean;
  /** The labels that are requested, by symbol. */
  readonly rangeOf: (symbol: string) => TimeRange;
  /** Number of bars of each symbol that are requested. */
  readonly count: number;
  /** The files that differ between an earlier version and that of the request; undefined where they are not known. */
  readonly changesSince: (earlier: string) => FileChanges | undefined;
  /** Reads the landed bars of symbols in files that were added. */
  readonly readAdded: (
    snapshot: Snapshot,
    symbols: readonly string[],
    rangeOf: (symbol: string) => TimeRange,
  ) => Promise<ReadonlyMap<string, BarRun>>;
}

/**
 * Updates cached bars of earlier versions to the version of a request. Bars that no changed file can have changed
 * remain. Where files were only added, their rows are read, and appended if they are later. Bars that cannot be updated
 * stay unchanged, and are read as if they were not cached.
 *
 * @returns the requested bars of the symbols that were updated, also of those for which the cache then had no space.
 */
export async function bringForward(earlier: EarlierBars): Promise<ReadonlyMap<string, BarRun>> {
  const { cache, key, version, symbols, changesSince, rangeOf, count } = earlier;
  const found = new Map<string, BarRun>();
  const renew = (newest: NewestRun): void => {
    const { symbol } = newest.run;
    cache.renew(key, version, newest);
    const requested = newestIn(newest, rangeOf(symbol), count);
    if (requested !== undefined) found.set(symbol, requested);
  };
  const extended = new Map<string, CachedRun>();
  const files = new Map<string, DataFile>();
  const changesOf = remembered(changesSince);
  for (const symbol of symbols) {
    const cached = cache.get(key, symbol);
    if (cached === undefined || cached.version === version) continue;
    const changes = changesOf(cached.version);
    if (changes === undefined) continue;
    const since = startOf(cached, earlier.series);
    if (changes.removed.some((file) => mayHave(file, symbol, since))) continue;
    const added = changes.added.filter((file) => mayHave(file, symbol, since));
    if (added.length === 0) renew(cached);
    else if (canExtend(earlier)) {
      extended.set(symbol, cached);
      for (const file of added) files.set(file.path, file);
    }
  }
  if (extended.size > 0) await extend(earlier, extended, files, renew);
  for (const [symbol, run] of found) {
    // The cache evicted it for the others: without a copy of the requested bars, all of its memory would remain in use.
    if (cache.get(key, symbol)?.run.values !== run.values) found.set(symbol, copyOf(run));
  }
  return found;
}

/** The changes since each version: the bars of many symbols belong to the same one. */
function remembered(changesSince: EarlierBars["changesSince"]): EarlierBars["changesSince"] {
  const known = new Map<string, FileChanges | undefined>();
  return (earlier) => {
    if (!known.has(earlier)) known.set(earlier, changesSince(earlier));
    return known.get(earlier);
  };
}

/** The earliest instant at which a new bar could change cached bars: their first bucket begins before its label. */
function startOf({ run, since }: CachedRun, { bucketDays }: Series): number {
  return run.start === run.end ? since : Math.max(ALL_TIME.start, since - bucketDays * DAY_MS);
}

function mayHave(file: DataFile, symbol: string, since: number): boolean {
  if (file.partitionValues.region !== regionOf(symbol) || fileRange(file).end <= since) return false;
  const bounds = statedBounds(file, "symbol");
  return bounds === undefined || (symbol >= bounds.min && symbol <= bounds.max);
}

function canExtend({ series, isInShares }: EarlierBars): boolean {
  return series.bucket.kind === "landed" || (series === MINUTES_OF_A_DAY && isInShares);
}

async function extend(
  { snapshot, series, count, readAdded }: EarlierBars,
  cached: ReadonlyMap<string, CachedRun>,
  files: ReadonlyMap<string, DataFile>,
  renew: (newest: NewestRun) => void,
): Promise<void> {
  const isOfDays = series === MINUTES_OF_A_DAY;
  const dayOf = dayFinder();
  const changed: Snapshot = { ...snapshot, files };
  const rangeOf = (symbol: string): TimeRange => ({
    start: startOf(cached.get(symbol) as CachedRun, series),
    end: ALL_TIME.end,
  });
  const blocks = new RunBlocks(cached.size);
  const isShort = !isOfDays || rowsOfFiles(files.values()) <= MOST_MINUTES;
  for (const symbols of inBatches([...cached.keys()], isShort ? cached.size : MOST_SYMBOLS_OF_DAYS)) {
    const read = await readAdded(changed, symbols, rangeOf);
    for (const symbol of symbols) {
      const { run, since } = cached.get(symbol) as CachedRun;
      const later = read.get(symbol) ?? { ...run, start: 0, end: 0 };
      const whole = isOfDays ? extendedDays(run, later, dayOf, blocks) : extendedRun(run, later, blocks);
      if (whole !== undefined) renew(newestOf({ run: whole, since }, count));
    }
  }
}

/** Drops the oldest bars of a run, which would otherwise grow with every version. */
function newestOf({ run, since }: NewestRun, count: number): NewestRun {
  const most = Math.max(MOST_BARS, 2 * count);
  if (run.end - run.start <= 2 * most) return { run, since };
  const start = run.end - most;
  return { run: copyOf({ ...run, start }), since: Number(run.values.timestamp[start]) };
}
