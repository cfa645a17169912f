import { int64At, int64Words, isPresent, putBit } from "../../core/bits.js";
import { DAY_MS, type TimeRange } from "../../core/time.js";
import { fileRange, rowsOfFiles, statedBounds } from "../../lake/files/prune.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { dayRange } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import { localDate } from "../../market/zone.js";
import { inBatches } from "../../plan/request-units.js";
import type { KlineValues, NumberColumn } from "../../wire/kline-columns.js";
import {
  appendRows,
  type BarCache,
  type CachedRun,
  copyOf,
  type GrowingRun,
  hasSpace,
  memoryFor,
  type NewestRun,
  newestIn,
  RunBlocks,
} from "./bar-cache.js";
import type { BarRun } from "./bar-runs.js";
import type { FileChanges } from "./file-history.js";
import { ALL_TIME, MINUTES_OF_A_DAY, type Series } from "./requested-bars.js";

/** A run followed by the bars of another run; undefined where not all bars of the other run are later. */
export function extendedRun(
  run: GrowingRun,
  later: BarRun,
  blocks: RunBlocks = new RunBlocks(1),
): GrowingRun | undefined {
  if (later.start === later.end) return run;
  if (!isLater(later, run)) return undefined;
  const rows = later.end - later.start;
  const own = hasSpace(run, rows) ? run : { ...run, memory: undefined };
  const memory = memoryFor(own, later, rows, blocks);
  const start = memory === run.memory ? run.start : memory.used;
  if (memory !== run.memory) appendRows(memory, run);
  appendRows(memory, later);
  const { values, used: end } = memory;
  return { symbol: run.symbol, values, start, end, found: end - start, memory };
}

/**
 * Extends a run of days, each made from the minutes of a trading date, by later minutes, with the rules of
 * `BAR_AGGREGATES`. Volumes are in shares.
 *
 * @returns undefined where not all minutes are later than those in the run.
 */
function extendedDays(
  run: GrowingRun,
  minutes: BarRun,
  dayOf: DayFinder,
  blocks: RunBlocks = new RunBlocks(1),
): GrowingRun | undefined {
  if (minutes.start === minutes.end) return run;
  if (!isLater(minutes, run)) return undefined;
  const region = regionOf(run.symbol) as Region;
  const times = int64Words(minutes.values.timestamp);
  const own = run.end - run.start;
  const firsts = firstMinutesOf(minutes, own === 0 ? undefined : Number(run.values.timestamp[run.end - 1]));
  // The last day changes, so all days are written again, to new rows.
  const memory = memoryFor(run, minutes, own + firsts.length, blocks);
  const { values, used: start } = memory;
  appendRows(memory, run);
  for (let k = -1; k < firsts.length; k++) {
    const from = k < 0 ? minutes.start : (firsts[k] as number);
    if (k >= 0) {
      appendRows(memory, { ...minutes, start: from, end: from + 1 });
      stateZeros(values, memory.used - 1);
    }
    const next = firsts[k + 1] ?? minutes.end;
    for (let row = k < 0 ? from : from + 1; row < next; row++)
      addMinute(values, memory.used - 1, minutes.values, row);
  }
  const end = memory.used;
  return { symbol: run.symbol, values, start, end, found: end - start, memory };

  /** The first minute of each day that begins after the day of an instant. */
  function firstMinutesOf({ start: first, end: after }: BarRun, last: number | undefined): number[] {
    const found: number[] = [];
    let dayEnd = last === undefined ? Number.NEGATIVE_INFINITY : dayOf(last, region).end;
    for (let row = first; row < after; row++) {
      const time = int64At(times, row);
      if (time < dayEnd) continue;
      found.push(row);
      dayEnd = dayOf(time, region).end;
    }
    return found;
  }
}

/** The minutes of each symbol as days: see {@link extendedDays}. */
export function daysOfMinutes(minutes: ReadonlyMap<string, BarRun>): Map<string, BarRun> {
  const [dayOf, blocks] = [dayFinder(), new RunBlocks(minutes.size)];
  const daysOf = (run: BarRun): BarRun =>
    extendedDays({ ...run, end: run.start }, run, dayOf, blocks) as BarRun;
  return new Map([...minutes].map(([symbol, run]) => [symbol, daysOf(run)]));
}

function isLater(later: BarRun, run: BarRun): boolean {
  if (run.start === run.end) return true;
  return (later.values.timestamp[later.start] as bigint) > (run.values.timestamp[run.end - 1] as bigint);
}

/** A price of a bar. Some feeds set the prices of a bar without trades to 0: see `statedPriceSql`. */
function stated({ values }: NumberColumn, close: number, row: number): number {
  return values[row] === 0 ? close : (values[row] as number);
}

function stateZeros({ doubles: { open, high, low, close } }: KlineValues, row: number): void {
  for (const price of [open, high, low]) price.values[row] = stated(price, close.values[row] as number, row);
}

function addMinute(days: KlineValues, day: number, minutes: KlineValues, row: number): void {
  const [to, from] = [days.doubles, minutes.doubles];
  const close = from.close.values[row] as number;
  days.timestamp[day] = minutes.timestamp[row] as bigint;
  days.volume[day] = (days.volume[day] as bigint) + (minutes.volume[row] as bigint);
  to.high.values[day] = Math.max(to.high.values[day] as number, stated(from.high, close, row));
  to.low.values[day] = Math.min(to.low.values[day] as number, stated(from.low, close, row));
  to.close.values[day] = close;
  to.amount.values[day] = (to.amount.values[day] as number) + (from.amount.values[row] as number);
  copyDouble(from.open_interest, row, to.open_interest, day);
  copyDouble(from.settlement_price, row, to.settlement_price, day);
}

function copyDouble(from: NumberColumn, row: number, to: NumberColumn, day: number): void {
  // A column of nulls may have no values, and its bitmap may be shared with other columns.
  if (to.values.length === 0) return;
  to.values[day] = from.values[row] ?? 0;
  if (to.validity !== undefined) putBit(to.validity, day, isPresent(from.validity, row));
}

/** Returns the day of a region that contains an instant, from local midnight to midnight. */
type DayFinder = (timestamp: number, region: Region) => TimeRange;

/**
 * Makes a day finder that caches the last day of each region: converting to a zone is slow, and most bars are of one
 * day.
 */
function dayFinder(): DayFinder {
  const last = new Map<Region, TimeRange>();
  return (timestamp, region) => {
    const known = last.get(region);
    if (known !== undefined && timestamp >= known.start && timestamp < known.end) return known;
    const found = dayRange(region, localDate(timestamp, REGIONS[region].zone));
    last.set(region, found);
    return found;
  };
}

/**
 * Most minutes that are read at the same time to make days from them, and most symbols whose minutes are read at the
 * same time where there may be more of them: a whole day of these has as many.
 */
const MOST_MINUTES = 120_000;
const MOST_SYMBOLS_OF_DAYS = 500;
/**
 * Rows of a moved run in addition to those that requests have needed, because not every request comes after every
 * commit. The row before a range is one of them: it shows that the range has no other rows.
 */
const EXTRA_ROWS = 16;
/** A run that has this number of times the rows that a request needs is shortened where memory is short. */
const TIMES_LONGER = 4;

/** Cached bars of an earlier version that a request needs. */
interface EarlierBars {
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
  readonly rangeOf: (symbol: string) => TimeRange;
  /** Number of bars of each symbol that are requested. */
  readonly count: number;
  /** The files that differ between an earlier version and that of the request; undefined where they are not known. */
  readonly changesSince: (earlier: string) => FileChanges | undefined;
  readonly readAdded: (
    snapshot: Snapshot,
    symbols: readonly string[],
    rangeOf: (symbol: string) => TimeRange,
  ) => Promise<ReadonlyMap<string, BarRun>>;
}

interface Forwarding extends EarlierBars {
  readonly isTight: boolean;
}

/**
 * Updates cached bars of earlier versions to the version of a request. Bars that no changed file can have changed
 * remain. Where files were only added, their rows are read, and appended if they are later. Bars that cannot be updated
 * stay unchanged, and are read as if they were not cached.
 *
 * @returns the requested bars of the symbols that were updated, also of those for which the cache then had no space.
 */
export async function bringForward(bars: EarlierBars): Promise<ReadonlyMap<string, BarRun>> {
  const { cache, key, version, symbols, changesSince, rangeOf, count } = bars;
  // Of all symbols, although those that are moved make space.
  const earlier: Forwarding = { ...bars, isTight: cache.isTight };
  const found = new Map<string, BarRun>();
  const renew = (newest: NewestRun, before: CachedRun): void => {
    const { run } = newest;
    const requested = newestIn(newest, rangeOf(run.symbol), count);
    const neededInVersion = requested === undefined ? 0 : run.end - requested.start;
    cache.renew(key, version, newest, { needed: Math.max(before.needed, neededInVersion), neededInVersion });
    if (requested !== undefined) found.set(run.symbol, requested);
  };
  const unchanged: CachedRun[] = [];
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
    if (added.length === 0) unchanged.push(cached);
    else if (canExtend(earlier)) {
      extended.set(symbol, cached);
      for (const file of added) files.set(file.path, file);
    }
  }
  const wasteful = new Set(unchanged.filter((cached) => isWasteful(cached, earlier)));
  const blocks = new RunBlocks(wasteful.size);
  for (const cached of unchanged) {
    const { run, since } = wasteful.has(cached) ? neededOf(cached, earlier) : cached;
    renew({ run: wasteful.has(cached) ? copyOf(run, blocks) : run, since }, cached);
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
  earlier: Forwarding,
  extended: ReadonlyMap<string, CachedRun>,
  files: ReadonlyMap<string, DataFile>,
  renew: (newest: NewestRun, before: CachedRun) => void,
): Promise<void> {
  const { snapshot, series, readAdded } = earlier;
  const isOfDays = series === MINUTES_OF_A_DAY;
  const dayOf = dayFinder();
  const changed: Snapshot = { ...snapshot, files };
  const rangeOf = (symbol: string): TimeRange => ({
    start: startOf(extended.get(symbol) as CachedRun, series),
    end: ALL_TIME.end,
  });
  const isShort = !isOfDays || rowsOfFiles(files.values()) <= MOST_MINUTES;
  for (const symbols of inBatches([...extended.keys()], isShort ? extended.size : MOST_SYMBOLS_OF_DAYS)) {
    const read = await readAdded(changed, symbols, rangeOf);
    const isMoved = (symbol: string): boolean => {
      const cached = extended.get(symbol) as CachedRun;
      const { run } = cached;
      const later = read.get(symbol);
      if (isWasteful(cached, earlier)) return true;
      if (later === undefined) return false;
      // All days are written again when the last one changes.
      return !hasSpace(run, later.end - later.start + (isOfDays ? run.end - run.start : 0));
    };
    const moved = new Set(symbols.filter(isMoved));
    const blocks = new RunBlocks(moved.size);
    for (const symbol of symbols) {
      const cached = extended.get(symbol) as CachedRun;
      const { run, since } = moved.has(symbol) ? neededOf(cached, earlier) : cached;
      const later = read.get(symbol);
      if (later === undefined) renew({ run: moved.has(symbol) ? copyOf(run, blocks) : run, since }, cached);
      else {
        const whole = isOfDays ? extendedDays(run, later, dayOf, blocks) : extendedRun(run, later, blocks);
        if (whole !== undefined) renew({ run: whole, since }, cached);
      }
    }
  }
}

/** Whether a cached run should be moved to new memory only because memory that it does not need would then be free. */
function isWasteful(cached: CachedRun, earlier: Forwarding): boolean {
  const { run } = cached;
  if (earlier.cache.isSparse(run.values)) return true;
  if (!earlier.isTight) return false;
  return run.end - run.start > TIMES_LONGER * (neededRows(cached, earlier) + EXTRA_ROWS);
}

/**
 * The number of newest rows of a cached run that this request or earlier ones have needed: where memory is short, those
 * of its version. All rows, where the run lacks requested rows: later ones may be what it lacks.
 */
function neededRows({ run, since, ...rows }: CachedRun, { isTight, rangeOf, count }: Forwarding): number {
  const requested = newestIn({ run, since }, rangeOf(run.symbol), count);
  if (requested === undefined) return run.end - run.start;
  return Math.max(isTight ? rows.neededInVersion : rows.needed, run.end - requested.start);
}

/** The part of a cached run that is moved to new memory. The run would otherwise grow with every version. */
function neededOf(cached: CachedRun, earlier: Forwarding): NewestRun {
  const { run, since } = cached;
  const extra = earlier.series === MINUTES_OF_A_DAY ? 0 : EXTRA_ROWS;
  const rows = Math.max(1, neededRows(cached, earlier)) + extra;
  const start = Math.max(run.start, run.end - rows);
  return {
    run: { ...run, start, memory: undefined },
    since: start === run.start ? since : Number(run.values.timestamp[start]),
  };
}
