import { DAY_MS, type TimeRange } from "../../core/time.js";
import { fileRange } from "../../lake/files/prune.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { byRegion, isRegion, REGION_NAMES, type Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { inBatches } from "../../plan/request-units.js";
import { BARS_1D } from "../../schema/bars.js";
import { NO_BARS } from "../../wire/encode/encode-klines.js";
import type { KlineRun } from "../../wire/kline-columns.js";
import { landedSymbols } from "../read/derived-shares.js";
import type { LakeView } from "../read/lake-reader.js";
import { type CachedRun, copyOf } from "./bar-cache.js";
import type { BarRun } from "./bar-runs.js";
import { bringForward } from "./bring-forward.js";
import { EX_EVENT_TABLES } from "./ex-events.js";
import { queryBars } from "./query-bars.js";
import {
  ALL_TIME,
  demandsOf,
  isInShares,
  type KlinesRequest,
  lookBackRanges,
  lotOf,
  MINUTES_OF_A_DAY,
  seriesOf,
} from "./requested-bars.js";

/** Days that are not final begin at most this time ago: a weekend, and the day before it until it becomes final. */
const RUNNING_MS = 5 * DAY_MS;
const NO_TIME: TimeRange = { start: 0, end: 0 };
/** Most symbols whose bars are read at the same time without a limit of their number. */
const WIDE_SYMBOLS = 100;

/**
 * Reads the newest bars of each symbol within a range, ascending. Symbols that are unknown and have no bar in the table
 * are left out.
 *
 * Cached bars are not read again. Of the table, the newest files are read first; older files are read only for symbols
 * that have too few bars in the newer ones.
 */
export async function readKlines(view: LakeView, request: KlinesRequest): Promise<KlineRun[]> {
  const { symbols, series, count, rangeOf } = request;
  const snapshot = await view.version.snapshot(series.table);
  const [key, version] = [seriesKey(view, request), await versionKey(view, request)];
  const read: VersionRead = { view, snapshot, request, key, version };
  const runs = new Map<string, BarRun>();
  const findCached = (from: readonly string[]): string[] =>
    from.filter((symbol) => {
      const region = regionOf(symbol);
      if (region === undefined) return false;
      const cached = view.barCache.find(key, version, symbol, rangeOf(region), count);
      if (cached !== undefined && cached.start < cached.end) runs.set(symbol, cached);
      return cached === undefined;
    });
  let missing = findCached(count > 0 ? symbols : []);
  let rows = 0;
  for (const { start, end } of runs.values()) rows += end - start;
  await view.acquireMemory(rows + missing.length * count);
  const range = (region: Region): string => `${rangeOf(region).start} ${rangeOf(region).end}`;
  const waiting = { signal: view.signal, memory: request.memory };
  const bars = `${version} ${key} ${count} ${REGION_NAMES.map(range).join(" ")}`;
  if (missing.some((symbol) => isOfEarlier(view.barCache.get(key, symbol), version))) {
    const load = `forward ${bars} ${missing.join()}`;
    const found = await view.loads.share(load, waiting, () => bringCachedForward(read, missing));
    for (const [symbol, run] of found) if (run.start < run.end) runs.set(symbol, run);
    missing = findCached(missing.filter((symbol) => !found.has(symbol)));
  }
  if (missing.length > 0) {
    const load = `${bars} ${missing.join()}`;
    const found = await view.loads.share(load, waiting, () => readRuns(read, missing));
    for (const [symbol, run] of found) runs.set(symbol, run);
  }
  const known = await knownSymbols(view, snapshot, request, runs);
  return known.map((symbol) => runs.get(symbol) ?? { symbol, values: NO_BARS, start: 0, end: 0 });
}

function isOfEarlier(cached: CachedRun | undefined, version: string): boolean {
  return cached !== undefined && cached.version !== version;
}

/** A request for bars in one version of the lake, with the keys of its bars in the cache. */
interface VersionRead {
  readonly view: LakeView;
  readonly snapshot: Snapshot;
  readonly request: KlinesRequest;
  /** See {@link seriesKey}. */
  readonly key: string;
  /** See {@link versionKey}. */
  readonly version: string;
}

/** Identifies everything that the bars of a request depend on except the lake's version, symbols, range and count. */
function seriesKey({ version }: LakeView, { series, adjustment, unitOf = lotOf }: KlinesRequest): string {
  const units = REGION_NAMES.map(unitOf).join("/");
  return `${series.table.name} ${JSON.stringify(series.bucket)} ${adjustment} ${units} ${version.visibleUntil ?? ""}`;
}

/** Identifies the version of the tables from which the bars of a request are read. */
function versionKey({ version }: LakeView, { series, adjustment }: KlinesRequest): Promise<string> {
  return version.stateOf(
    adjustment === "none" ? [series.table] : [...new Set([series.table, ...EX_EVENT_TABLES])],
  );
}

/**
 * Updates cached bars of earlier versions in the cache. Adjusted bars, and bars of a replay, are read again instead.
 *
 * @returns the requested bars of the symbols that were updated.
 */
async function bringCachedForward(
  { view, snapshot, request, key, version }: VersionRead,
  symbols: readonly string[],
): Promise<ReadonlyMap<string, BarRun>> {
  const { series, adjustment, count, rangeOf, unitOf = lotOf } = request;
  const none = new Map<string, BarRun>();
  if (adjustment !== "none" || view.version.visibleUntil !== undefined) return none;
  const landed = series === MINUTES_OF_A_DAY ? seriesOf("1m") : series;
  const all: KlinesRequest = { ...request, series: landed, rangeOf: () => ALL_TIME };
  return bringForward({
    cache: view.barCache,
    key,
    version,
    snapshot,
    series,
    symbols,
    count,
    rangeOf: (symbol) => rangeOf(regionOf(symbol) as Region),
    isInShares: isInShares(unitOf),
    changesSince: (earlier) => view.changesSince(snapshot, earlier),
    async readAdded(changed, some, addedOf) {
      return queryBars(view, changed, all, some, {
        rangeOf: addedOf,
        count: Number.MAX_SAFE_INTEGER,
        isNew: true,
      });
    },
  });
}

/** Reads the bars of symbols, and caches those runs that end with the newest bar. */
async function readRuns(
  { view, snapshot, request, key, version }: VersionRead,
  symbols: readonly string[],
): Promise<ReadonlyMap<string, BarRun>> {
  const { count } = request;
  const runs = new Map<string, BarRun>();
  const rangesOf = lookBacks(view, snapshot, request, symbols);
  const complete: { run: BarRun; since: number }[] = [];
  let pending = symbols;
  for (let step = 0; pending.length > 0; step++) {
    const rangeOf = (symbol: string): TimeRange => {
      const ranges = rangesOf.get(symbol) ?? [];
      return ranges[Math.min(step, ranges.length - 1)] ?? NO_TIME;
    };
    // The first range fits the count. Later ranges are longer, up to all bars of a symbol, so they are read in batches.
    const groups = step === 0 ? [pending] : inBatches(pending, WIDE_SYMBOLS);
    const found = new Map<string, BarRun>();
    for (const group of groups) {
      const isCopied = groups.length > 1;
      const memory = isCopied ? request.memory?.another() : request.memory;
      const runsOfGroup = await queryBars(view, snapshot, { ...request, memory }, group, { rangeOf, count });
      for (const run of runsOfGroup.values()) found.set(run.symbol, isCopied ? copyOf(run) : run);
      if (isCopied) memory?.giveBack();
    }
    pending = pending.filter((symbol) => {
      const run = found.get(symbol);
      const isLast = step + 1 >= (rangesOf.get(symbol)?.length ?? 0);
      if (!isLast && !hasEnough(run, request)) return true;
      if (run !== undefined) runs.set(symbol, run);
      const since =
        run !== undefined && (!isLast || run.found > count)
          ? Number(run.values.timestamp[run.start])
          : request.rangeOf(regionOf(symbol) as Region).start;
      complete.push({ run: run ?? { symbol, values: NO_BARS, start: 0, end: 0, found: 0 }, since });
      return false;
    });
  }
  noteNewest(view, request, symbols, runs);
  const newest = newestOf(snapshot);
  const whole = complete.filter(({ run }) => {
    const region = regionOf(run.symbol) as Region;
    return request.rangeOf(region).end >= Math.min(newest[region], ALL_TIME.end);
  });
  view.barCache.add(key, version, whole);
  return runs;
}

/**
 * The oldest aggregated bar may be incomplete. One bar more than requested is therefore read, so that the others are
 * complete.
 */
function hasEnough(run: BarRun | undefined, { series, count }: KlinesRequest): boolean {
  return run !== undefined && run.found >= count + (series.bucket.kind === "landed" ? 0 : 1);
}

function lookBacks(
  view: LakeView,
  snapshot: Snapshot,
  { series, count, rangeOf }: KlinesRequest,
  symbols: readonly string[],
): Map<string, TimeRange[]> {
  const slack = series.bucketDays * DAY_MS;
  const { files } = demandsOf(snapshot, symbols, {
    rangeOf: (symbol) => {
      const { start, end } = rangeOf(regionOf(symbol) as Region);
      return { start: start - slack, end: end + slack };
    },
  });
  const availableIn = (region: Region): TimeRange =>
    visibleRange(
      rangeOfFiles(files.filter((file) => file.partitionValues.region === region)),
      view.version.visibleUntil,
      series.table === BARS_1D,
    );
  const available = byRegion(availableIn);
  return new Map(
    symbols.map((symbol) => {
      const region = regionOf(symbol) as Region;
      const newest = view.newestBars.get(series.table, symbol);
      const labels = rangeOf(region);
      return [
        symbol,
        lookBackRanges({ series, region, count, labels, available: available[region], newest }),
      ];
    }),
  );
}

/**
 * The part of a range of bars that can be visible. The daily bars of running days are in no file: they are computed
 * from minutes of the last days.
 */
function visibleRange({ start, end }: TimeRange, until: number | undefined, isDaily: boolean): TimeRange {
  if (until === undefined) return { start, end };
  if (!isDaily) return { start, end: Math.min(end, until + 1) };
  return { start: Math.min(start, until - RUNNING_MS), end: until + 1 };
}

function rangeOfFiles(files: readonly DataFile[]): TimeRange {
  const ranges = files.map(fileRange);
  return {
    start: Math.min(...ranges.map((range) => range.start)),
    end: Math.max(...ranges.map((range) => range.end)),
  };
}

/**
 * The end of each region's bars in a table, exclusive, in epoch milliseconds; -Infinity where the region has no bars.
 */
function newestOf({ files }: Snapshot): Record<Region, number> {
  const newest = byRegion(() => Number.NEGATIVE_INFINITY);
  for (const file of files.values()) {
    const { region } = file.partitionValues;
    if (region && isRegion(region)) newest[region] = Math.max(newest[region], fileRange(file).end);
  }
  return newest;
}

/** Records where each symbol's bars end, for the next look back, unless the requested window ends before that. */
function noteNewest(
  view: LakeView,
  request: KlinesRequest,
  symbols: readonly string[],
  runs: ReadonlyMap<string, BarRun>,
): void {
  for (const symbol of symbols) {
    const region = regionOf(symbol);
    if (region === undefined || request.rangeOf(region).end < ALL_TIME.end) continue;
    const run = runs.get(symbol);
    if (run === undefined && request.rangeOf(region).start > ALL_TIME.start) continue;
    const newest = run === undefined ? Number.NEGATIVE_INFINITY : Number(run.values.timestamp[run.end - 1]);
    view.newestBars.note(request.series.table, symbol, newest);
  }
}

async function knownSymbols(
  view: LakeView,
  snapshot: Snapshot,
  { symbols, isKnown }: KlinesRequest,
  runs: ReadonlyMap<string, BarRun>,
): Promise<string[]> {
  const unknown = symbols.filter((symbol) => !runs.has(symbol) && !isKnown(symbol));
  const landed = await landedSymbols(view.version, snapshot, unknown);
  // A symbol without minutes is known if it has daily bars.
  const others = unknown.filter((symbol) => !landed.has(symbol));
  if (snapshot.table !== BARS_1D && others.length > 0) {
    const daily = await view.version.snapshot(BARS_1D);
    for (const symbol of await landedSymbols(view.version, daily, others)) landed.add(symbol);
  }
  return symbols.filter((symbol) => runs.has(symbol) || isKnown(symbol) || landed.has(symbol));
}

/** Most bars that are read at the same time: those of a response with 100 symbols and the largest count. */
export const BLOCK_ROWS = 1_000_000;

/**
 * Reads bars as {@link readKlines} does, one block of symbols after the other, so that a request for any number of
 * symbols needs the memory of one block.
 *
 * @param most most bars that a symbol can have. @default the request's count
 */
export async function* klineBlocks(
  view: LakeView,
  request: KlinesRequest,
  most: number = request.count,
): AsyncGenerator<KlineRun[]> {
  const size = Math.max(1, Math.floor(BLOCK_ROWS / Math.max(1, Math.min(most, request.count))));
  for (let start = 0; start === 0 || start < request.symbols.length; start += size)
    // The memory of a request is in use until its response ends: a block has its own.
    yield await readKlines(view, {
      ...request,
      memory: undefined,
      symbols: request.symbols.slice(start, start + size),
    });
}

export function isOneBlock({ symbols, count }: KlinesRequest, most: number = count): boolean {
  return symbols.length * Math.min(most, count) <= BLOCK_ROWS;
}
