import type { TimeRange } from "../../../core/time.js";
import { type BarRun, bytesOf, compacted, firstNotBefore } from "../bar-runs.js";
import type { GrowingRun } from "./run-memory.js";

/** Bars of a symbol: all its bars with labels at or after `since`. */
export interface NewestRun {
  readonly run: GrowingRun;
  /** Epoch milliseconds. */
  readonly since: number;
}

/** The cached bars of a symbol. */
export interface CachedRun extends NewestRun {
  /** The version of the lake that the bars belong to. */
  readonly version: string;
}

interface Entry extends CachedRun {
  /** The key of its series. */
  readonly key: string;
  readonly bytes: number;
}

/** Estimated bytes of an entry in addition to its values. */
const ENTRY_BYTES = 1024;

/**
 * Caches the newest bars of recently requested symbols as typed arrays. Most requests are for these bars, and then need
 * no query. An entry belongs to one version of the lake; entries of earlier versions can be updated. The size is
 * limited in bytes; the least recently used entries are evicted first.
 */
export class BarCache {
  readonly #mostBytes: number;
  /** The entries by series and symbol: a text made of both would have to be hashed for each look-up. */
  readonly #series = new Map<string, Map<string, Entry>>();
  /** All entries in the order of their last use. */
  readonly #byUse = new Set<Entry>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Bytes of all entries. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The newest `count` bars of a symbol with labels in a range; undefined where the cache may lack some of them.
   *
   * @param key everything that the bars depend on except the symbol and the version: series, adjustment.
   */
  find(key: string, version: string, symbol: string, range: TimeRange, count: number): BarRun | undefined {
    const cached = this.#series.get(key)?.get(symbol);
    if (cached?.version !== version) return undefined;
    const found = newestIn(cached, range, count);
    if (found === undefined) return undefined;
    this.#byUse.delete(cached);
    this.#byUse.add(cached);
    return found;
  }

  /** The cached bars of a symbol, in any version. */
  get(key: string, symbol: string): CachedRun | undefined {
    return this.#series.get(key)?.get(symbol);
  }

  /**
   * Caches runs that end with their symbols' newest bars.
   *
   * @param runs each with the label from which it is complete (epoch milliseconds).
   */
  add(key: string, version: string, runs: readonly NewestRun[]): void {
    for (const { run, since } of runs) {
      // Runs that would evict most other entries are not cached.
      if ((run.end - run.start) * runs.length * 64 > this.#mostBytes / 2) continue;
      this.renew(key, version, { run: compacted(run), since });
    }
  }

  /**
   * Replaces the cached bars of a symbol with the same bars, or with additional later ones. The request that needs them
   * counts as their last use, so that bars which it does not need are evicted first.
   */
  renew(key: string, version: string, { run, since }: NewestRun): void {
    const earlier = this.#series.get(key)?.get(run.symbol);
    if (earlier !== undefined) this.#remove(earlier);
    const series = this.#series.get(key) ?? new Map<string, Entry>();
    this.#series.set(key, series);
    const entry = { key, run, since, version, bytes: bytesOf(run) + ENTRY_BYTES };
    series.set(run.symbol, entry);
    this.#byUse.add(entry);
    this.#bytes += entry.bytes;
    for (const oldest of this.#byUse) {
      if (this.#bytes <= this.#mostBytes) return;
      this.#remove(oldest);
    }
  }

  #remove(entry: Entry): void {
    const { key, run, bytes } = entry;
    const series = this.#series.get(key);
    series?.delete(run.symbol);
    if (series?.size === 0) this.#series.delete(key);
    this.#byUse.delete(entry);
    this.#bytes -= bytes;
  }
}

/** The newest `count` bars with labels in a range; undefined where the run may lack some of them. */
export function newestIn({ run, since }: NewestRun, range: TimeRange, count: number): BarRun | undefined {
  const end = firstNotBefore(run, range.end);
  const first = firstNotBefore(run, range.start);
  const start = Math.max(first, end - count);
  if (end - start < count && range.start < since) return undefined;
  const { symbol, values } = run;
  return { symbol, values, start, end: Math.max(start, end), found: Math.max(0, end - first) };
}
