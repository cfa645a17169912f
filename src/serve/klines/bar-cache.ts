import { copyBits } from "../../core/bits.js";
import type { TimeRange } from "../../core/time.js";
import { DOUBLE_COLUMNS, type KlineValues, type NumberColumn } from "../../wire/kline-columns.js";
import { type BarRun, bytesOf, firstNotBefore, newColumns, type Presence, presenceOf } from "./bar-runs.js";

/**
 * Spare rows of new memory, in addition to the rows that it is allocated for: a quarter as many, but not fewer or more
 * than this. A long run is copied once in some hundred commits.
 */
const LEAST_SPARE_ROWS = 16;
const MOST_SPARE_ROWS = 256;
/** Most rows of columns that several runs share, about 300 KB. */
const BLOCK_ROWS = 4096;
/** Fewer rows than this are copied one by one: to make a view of a typed array takes as long as copying them. */
const FEW_ROWS = 16;

/**
 * Rows of columns for one run, with space for later rows, which are appended to the existing ones. Appended rows never
 * change, since requests may be reading them.
 */
interface RunMemory {
  readonly values: KlineValues;
  /** The end of its rows, exclusive. */
  readonly limit: number;
  /** The end of the rows that are in use, exclusive. */
  used: number;
}

/** A cached run and its memory. The memory is undefined where it has no space for later rows. */
export interface GrowingRun extends BarRun {
  readonly memory?: RunMemory | undefined;
}

/**
 * Allocates memory for runs. Several share the same columns: arrays for each of thousands of symbols would take longer
 * to allocate, to collect as garbage, and to find in the processor's caches than their few rows to copy.
 */
export class RunBlocks {
  #runs: number;
  #values: KlineValues | undefined;
  #used = 0;

  /** @param runs number of runs that probably need memory. */
  constructor(runs: number) {
    this.#runs = runs;
  }

  /** Cleared memory for a number of rows of the columns that some runs have. */
  take(rows: number, runs: readonly BarRun[]): RunMemory {
    let values = this.#values;
    const fits = values !== undefined && this.#used + rows <= values.timestamp.length;
    if (values === undefined || !fits || !runs.every((run) => hasColumns(values as KlineValues, run))) {
      values = columnsFor(Math.max(rows, Math.min(BLOCK_ROWS, rows * this.#runs)), runs, values);
      this.#values = values;
      this.#used = 0;
    }
    const used = this.#used;
    this.#used += rows;
    this.#runs -= 1;
    return { values, limit: this.#used, used };
  }
}

/** @param before columns of the same block of runs: the new ones also fit for runs that these fit for. */
function columnsFor(rows: number, runs: readonly BarRun[], before: KlineValues | undefined): KlineValues {
  return newColumns(rows, (name) => {
    const presences = runs.map((run) => presenceOf(run.values.doubles[name], run));
    if (before !== undefined) presences.push(presenceIn(before.doubles[name]));
    const isEach = (only: Presence): boolean =>
      presences.every((presence) => presence === "empty" || presence === only);
    return isEach("none") ? "none" : isEach("all") ? "all" : "some";
  });
}

/** Which rows of a column have memory for a value. */
function presenceIn({ values, validity }: NumberColumn): Presence {
  if (values.length === 0) return "none";
  return validity === undefined ? "all" : "some";
}

/** A copy of only the run's rows, so that the other memory of its columns can be freed. */
export function copyOf(run: BarRun, blocks: RunBlocks = new RunBlocks(1)): BarRun {
  const memory = blocks.take(run.end - run.start, [run]);
  const { values, used: start } = memory;
  appendRows(memory, run);
  return { symbol: run.symbol, values, start, end: memory.used, found: run.found };
}

/**
 * The memory of a run, if it has space for `rows` more rows in the columns of `later`; else new memory without rows.
 */
export function memoryFor(run: GrowingRun, later: BarRun, rows: number, blocks: RunBlocks): RunMemory {
  const { memory } = run;
  if (memory !== undefined && memory.used + rows <= memory.limit && hasColumns(memory.values, later))
    return memory;
  const most = run.end - run.start + rows;
  const spare = Math.min(MOST_SPARE_ROWS, Math.max(LEAST_SPARE_ROWS, most >> 2));
  return blocks.take(most + spare, [run, later]);
}

/** Whether there is memory for `rows` more rows directly after those of a run. */
export function hasSpace({ memory, end }: GrowingRun, rows: number): boolean {
  // Rows in the memory after those of the run belong to another version, which other requests read.
  return memory !== undefined && memory.used === end && end + rows <= memory.limit;
}

/**
 * Appends rows. Where all values of a column are null, its memory of values is not written: only its nulls are marked.
 */
export function appendRows(memory: RunMemory, { values, start, end }: BarRun): void {
  const { used: at } = memory;
  const { timestamp, volume, doubles } = memory.values;
  copyRows(values.timestamp, start, end, timestamp, at);
  copyRows(values.volume, start, end, volume, at);
  for (const name of DOUBLE_COLUMNS) {
    const [from, to] = [values.doubles[name], doubles[name]];
    if (to.values.length === 0) continue;
    if (from.values.length > 0)
      for (let row = start; row < end; row++) to.values[at + row - start] = from.values[row] as number;
    if (to.validity !== undefined) copyBits(from.validity, start, end - start, to.validity, at);
  }
  memory.used += end - start;
}

function copyRows(from: BigInt64Array, start: number, end: number, to: BigInt64Array, at: number): void {
  if (end - start < FEW_ROWS)
    for (let row = start; row < end; row++) to[at + row - start] = from[row] as bigint;
  else to.set(from.subarray(start, end), at);
}

/**
 * Whether rows of a run fit into columns: they must have memory for values where the run has one, and a bitmap where it
 * has nulls.
 */
function hasColumns({ doubles }: KlineValues, run: BarRun): boolean {
  return DOUBLE_COLUMNS.every((name) => {
    const own = doubles[name];
    const presence = presenceOf(run.values.doubles[name], run);
    if (presence === "empty") return true;
    return own.values.length === 0 ? presence === "none" : own.validity !== undefined || presence === "all";
  });
}

/** Bars of a symbol: all its bars with labels at or after `since`. */
export interface NewestRun {
  readonly run: GrowingRun;
  /** Epoch milliseconds. */
  readonly since: number;
}

export interface CachedRun extends NewestRun {
  readonly version: string;
  /** Number of its newest rows from the earliest one that a request has taken. */
  readonly needed: number;
  /** As {@link needed}, by requests of its version alone. */
  readonly neededInVersion: number;
}

interface Entry extends CachedRun {
  readonly key: string;
  needed: number;
  neededInVersion: number;
}

/** The entries whose bars are in the same columns. */
interface Block {
  readonly entries: Set<Entry>;
  /** The most entries that it had. */
  most: number;
  readonly bytes: number;
}

/** Estimated bytes of an entry in addition to its values, and of a block. */
const ENTRY_BYTES = 512;
const BLOCK_BYTES = 2048;

/** About how many bytes a bar takes. */
const BAR_BYTES = 64;
/** The share of its bytes from which the cache counts as full. */
const FULL = 0.9;
/** The last series of symbols that are remembered as requested once: at least this number, at most twice as many. */
const REQUESTED = 30_000;

/**
 * Caches the newest bars of recently requested symbols as typed arrays. Most requests are for these bars, and then need
 * no query. An entry belongs to one version of the lake; entries of earlier versions can be updated. The size is
 * limited in bytes; the least recently used columns are evicted first, with all entries that have bars in them.
 *
 * A full cache takes in only what is requested for the second time: a client that asks for all symbols one after the
 * other, each once, evicts nothing that others ask for again and again.
 */
export class BarCache {
  readonly #mostBytes: number;
  /** The entries by series and symbol: a text made of both would have to be hashed for each look-up. */
  readonly #series = new Map<string, Map<string, Entry>>();
  #last: { readonly key: string; readonly entries: Map<string, Entry> } | undefined;
  /** The columns in the order of their last use. */
  readonly #blocks = new Map<KlineValues, Block>();
  #newest: KlineValues | undefined;
  #bytes = 0;
  /** Series of symbols that were requested once while the cache was full: the last ones, and those before them. */
  #requested = new Set<string>();
  #requestedBefore = new Set<string>();

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Whether so much is cached that bars should leave which requests have not needed lately. */
  get isTight(): boolean {
    return 2 * this.#bytes > this.#mostBytes;
  }

  /**
   * The newest `count` bars of a symbol with labels in a range; undefined where the cache may lack some of them.
   *
   * @param key everything that the bars depend on except the symbol and the version: series, adjustment.
   */
  find(key: string, version: string, symbol: string, range: TimeRange, count: number): BarRun | undefined {
    const cached = this.#entriesOf(key)?.get(symbol);
    if (cached?.version !== version) return undefined;
    const found = newestIn(cached, range, count);
    if (found === undefined) return undefined;
    cached.neededInVersion = Math.max(cached.neededInVersion, cached.run.end - found.start);
    cached.needed = Math.max(cached.needed, cached.neededInVersion);
    this.#use(cached.run.values);
    return found;
  }

  get(key: string, symbol: string): CachedRun | undefined {
    return this.#entriesOf(key)?.get(symbol);
  }

  /**
   * The entries of a series. A request looks up many symbols with one text: to find it in the map, which has an equal
   * text, takes as long as to find the symbol.
   */
  #entriesOf(key: string): Map<string, Entry> | undefined {
    if (key === this.#last?.key) return this.#last.entries;
    const entries = this.#series.get(key);
    this.#last = entries && { key, entries };
    return entries;
  }

  /**
   * Caches runs that end with their symbols' newest bars.
   *
   * @param runs each with the label from which it is complete (epoch milliseconds).
   */
  add(key: string, version: string, runs: readonly NewestRun[]): void {
    const taken = runs.filter(({ run }) => {
      const bytes = (run.end - run.start) * runs.length * BAR_BYTES;
      // Runs that would evict most other entries are not cached.
      if (bytes > this.#mostBytes / 2) return false;
      const isFull = this.#bytes + bytes > FULL * this.#mostBytes;
      // Bars of an earlier version take up the space already.
      return (
        !isFull || this.get(key, run.symbol) !== undefined || this.#isRequestedAgain(`${key} ${run.symbol}`)
      );
    });
    const blocks = new RunBlocks(taken.length);
    for (const { run, since } of taken) {
      const rows = run.end - run.start;
      this.renew(key, version, { run: copyOf(run, blocks), since }, { needed: rows, neededInVersion: rows });
    }
  }

  /**
   * Whether most entries with bars in some columns have left them. The others should be moved to new memory, since they
   * prevent that of the columns from being freed.
   */
  isSparse(values: KlineValues): boolean {
    const block = this.#blocks.get(values);
    return block !== undefined && 2 * block.entries.size < block.most;
  }

  /**
   * Replaces the cached bars of a symbol with the same bars, or with additional later ones. The request that needs them
   * counts as their last use, so that bars which it does not need are evicted first.
   *
   * @param rows how many of its rows are needed: see {@link CachedRun}.
   */
  renew(
    key: string,
    version: string,
    { run, since }: NewestRun,
    rows: Pick<CachedRun, "needed" | "neededInVersion">,
  ): void {
    const earlier = this.#series.get(key)?.get(run.symbol);
    this.#put({ key, run, since, version, needed: rows.needed, neededInVersion: rows.neededInVersion });
    if (earlier !== undefined) this.#leave(earlier);
    for (const oldest of this.#blocks.values()) {
      if (this.#bytes <= this.#mostBytes) return;
      for (const entry of oldest.entries) this.#remove(entry);
    }
  }

  /** Notes the first request for a symbol's series. */
  #isRequestedAgain(series: string): boolean {
    if (this.#requested.delete(series) || this.#requestedBefore.delete(series)) return true;
    if (this.#requested.size >= REQUESTED)
      [this.#requestedBefore, this.#requested] = [this.#requested, new Set()];
    this.#requested.add(series);
    return false;
  }

  #put(entry: Entry): void {
    const { key, run } = entry;
    const series = this.#series.get(key) ?? new Map<string, Entry>();
    this.#series.set(key, series);
    series.set(run.symbol, entry);
    const block = this.#blocks.get(run.values) ?? this.#begin(run.values);
    block.entries.add(entry);
    block.most = Math.max(block.most, block.entries.size);
    this.#bytes += ENTRY_BYTES;
    this.#use(run.values);
  }

  #begin(values: KlineValues): Block {
    const block = { entries: new Set<Entry>(), most: 0, bytes: bytesOf(values) + BLOCK_BYTES };
    this.#blocks.set(values, block);
    this.#bytes += block.bytes;
    return block;
  }

  /** Notes that columns are used now. */
  #use(values: KlineValues): void {
    if (values === this.#newest) return;
    this.#newest = values;
    const block = this.#blocks.get(values) as Block;
    this.#blocks.delete(values);
    this.#blocks.set(values, block);
  }

  #remove(entry: Entry): void {
    const series = this.#series.get(entry.key);
    series?.delete(entry.run.symbol);
    if (series?.size === 0) {
      this.#series.delete(entry.key);
      this.#last = undefined;
    }
    this.#leave(entry);
  }

  /** Takes an entry out of its block. The last one frees the columns. */
  #leave(entry: Entry): void {
    const { values } = entry.run;
    const block = this.#blocks.get(values) as Block;
    block.entries.delete(entry);
    this.#bytes -= ENTRY_BYTES;
    if (block.entries.size > 0) return;
    this.#blocks.delete(values);
    this.#bytes -= block.bytes;
    if (this.#newest === values) this.#newest = undefined;
  }
}

/** The newest `count` bars with labels in a range; undefined where the run may lack some of them. */
export function newestIn({ run, since }: NewestRun, range: TimeRange, count: number): BarRun | undefined {
  // A window of the past: nothing of it is in the run.
  if (count > 0 && range.end <= since && range.start < since) return undefined;
  const end = firstNotBefore(run, range.end);
  const first = firstNotBefore(run, range.start);
  const start = Math.max(first, end - count);
  if (end - start < count && range.start < since) return undefined;
  const { symbol, values } = run;
  return { symbol, values, start, end: Math.max(start, end), found: Math.max(0, end - first) };
}
