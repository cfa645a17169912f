import type { TimeRange } from "../../core/time.js";
import { type BarRun, bytesOf, compacted, firstNotBefore } from "./bar-runs.js";

/** What is held of a symbol: all its bars with labels from `since` on. */
interface CachedRun {
  readonly run: BarRun;
  /** Epoch milliseconds. */
  readonly since: number;
  readonly bytes: number;
}

/** What an entry costs beside its values. */
const ENTRY_BYTES = 1024;

/**
 * The newest bars of the symbols that were asked for last, as typed arrays: most requests are for these, and need no
 * query then. What is held is of one version of the lake: the key says which. Bounded in bytes; what was not asked for
 * for the longest time goes first.
 */
export class BarCache {
  readonly #mostBytes: number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, CachedRun>();
  #bytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Bytes that are held. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The newest `count` bars of a symbol with labels in a range; undefined where that is not known.
   *
   * @param key what the bars follow from beside the symbol: table versions, series, adjustment.
   */
  find(key: string, symbol: string, range: TimeRange, count: number): BarRun | undefined {
    const name = `${key} ${symbol}`;
    const held = this.#entries.get(name);
    if (held === undefined) return undefined;
    const end = firstNotBefore(held.run, range.end);
    const first = firstNotBefore(held.run, range.start);
    const start = Math.max(first, end - count);
    if (end - start < count && range.start < held.since) return undefined;
    this.#entries.delete(name);
    this.#entries.set(name, held);
    return { ...held.run, start, end: Math.max(start, end), found: Math.max(0, end - first) };
  }

  /**
   * Holds runs that end with their symbols' newest bars.
   *
   * @param runs with the label, in epoch milliseconds, from which on each is complete.
   */
  keep(key: string, runs: readonly { readonly run: BarRun; readonly since: number }[]): void {
    for (const { run, since } of runs) {
      // An answer that would drive out most of the others is not worth it.
      if ((run.end - run.start) * runs.length * 64 > this.#mostBytes / 2) continue;
      const own = compacted(run);
      this.#put(`${key} ${run.symbol}`, { run: own, since, bytes: bytesOf(own) + ENTRY_BYTES });
    }
  }

  #put(name: string, held: CachedRun): void {
    this.#remove(name);
    this.#entries.set(name, held);
    this.#bytes += held.bytes;
    for (const oldest of this.#entries.keys()) {
      if (this.#bytes <= this.#mostBytes) return;
      this.#remove(oldest);
    }
  }

  #remove(name: string): void {
    const held = this.#entries.get(name);
    if (held === undefined) return;
    this.#entries.delete(name);
    this.#bytes -= held.bytes;
  }
}
