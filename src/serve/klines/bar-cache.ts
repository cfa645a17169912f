import type { TimeRange } from "../../core/time.js";
import { type BarRun, bytesOf, compacted, firstNotBefore } from "./bar-runs.js";

/** The cached bars of a symbol: all its bars with labels from `since` on. */
interface CachedRun {
  readonly run: BarRun;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly bytes: number;
}

/** Estimated bytes of an entry in addition to its values. */
const ENTRY_BYTES = 1024;

/**
 * Caches the newest bars of recently requested symbols as typed arrays: most requests are for these, and then need no
 * query. An entry belongs to one version of the lake, which is part of its key. The size is limited in bytes; the least
 * recently used entries are evicted first.
 */
export class BarCache {
  readonly #mostBytes: number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, CachedRun>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Cached bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The newest `count` bars of a symbol with labels in a range; undefined where the cache may lack some of them.
   *
   * @param key everything that the bars depend on except the symbol: table versions, series, adjustment.
   */
  find(key: string, symbol: string, range: TimeRange, count: number): BarRun | undefined {
    const name = `${key} ${symbol}`;
    const cached = this.#entries.get(name);
    if (cached === undefined) return undefined;
    const end = firstNotBefore(cached.run, range.end);
    const first = firstNotBefore(cached.run, range.start);
    const start = Math.max(first, end - count);
    if (end - start < count && range.start < cached.since) return undefined;
    this.#entries.delete(name);
    this.#entries.set(name, cached);
    return { ...cached.run, start, end: Math.max(start, end), found: Math.max(0, end - first) };
  }

  /**
   * Caches runs that end with their symbols' newest bars.
   *
   * @param runs each with the label from which on it is complete (epoch milliseconds).
   */
  add(key: string, runs: readonly { readonly run: BarRun; readonly since: number }[]): void {
    for (const { run, since } of runs) {
      // Runs that would evict most other entries are not cached.
      if ((run.end - run.start) * runs.length * 64 > this.#mostBytes / 2) continue;
      const own = compacted(run);
      this.#put(`${key} ${run.symbol}`, { run: own, since, bytes: bytesOf(own) + ENTRY_BYTES });
    }
  }

  #put(name: string, cached: CachedRun): void {
    this.#remove(name);
    this.#entries.set(name, cached);
    this.#bytes += cached.bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#mostBytes) return;
      this.#remove(oldest);
    }
  }

  #remove(name: string): void {
    const cached = this.#entries.get(name);
    if (cached === undefined) return;
    this.#entries.delete(name);
    this.#bytes -= cached.bytes;
  }
}
