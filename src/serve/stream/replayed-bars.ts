import type { Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import type { QuoteBars, ReadQuoteBars } from "../klines/quote-bars.js";
import type { ReadLake } from "./read-lake.js";
import { RegionBars } from "./region-bars.js";

const NO_BARS: QuoteBars = { daily: [], minutes: undefined };

/**
 * The bars for quotes in a replay. They are in memory and updated minute by minute. Queries are only needed when the
 * replay is set to another time, or runs faster than minutes can be read. Bars of forgotten symbols are freed. Only one
 * call may run at a time.
 */
export class ReplayedBars {
  readonly #readLake: ReadLake;
  readonly #onFault: (error: unknown) => void;
  readonly #regions = new Map<Region, RegionBars>();

  /** @param onFault called with the errors of reads ahead of the replayed time. */
  constructor(readLake: ReadLake, onFault: (error: unknown) => void) {
    this.#readLake = readLake;
    this.#onFault = onFault;
  }

  /** The bars of symbols at the as-of time of a view. */
  read: ReadQuoteBars = async (view, symbols) => {
    const groups = new Map<Region, number[]>();
    for (const [index, symbol] of symbols.entries()) {
      const region = regionOf(symbol);
      if (region === undefined) continue;
      const own = groups.get(region);
      if (own === undefined) groups.set(region, [index]);
      else own.push(index);
    }
    const found: QuoteBars[] = symbols.map(() => NO_BARS);
    for (const [region, own] of groups) {
      const barsAt = await this.#of(region).read(
        view,
        own.map((index) => symbols[index] as string),
      );
      for (const [at, index] of own.entries()) found[index] = barsAt(at);
    }
    return (index) => found[index] ?? NO_BARS;
  };

  /** Frees the bars of a symbol that is no longer requested. */
  forget(symbol: string): void {
    const region = regionOf(symbol);
    if (region !== undefined) this.#regions.get(region)?.forget(symbol);
  }

  /** Frees all bars. */
  clear(): void {
    for (const bars of this.#regions.values()) bars.clear();
    this.#regions.clear();
  }

  #of(region: Region): RegionBars {
    const known = this.#regions.get(region);
    if (known !== undefined) return known;
    const bars = new RegionBars(region, this.#readLake, this.#onFault);
    this.#regions.set(region, bars);
    return bars;
  }
}
