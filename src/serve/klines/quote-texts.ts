import type { Region } from "../../market/regions.js";

/** Most quotes of a region that are cached, which take about 8 MB. */
export const MOST_QUOTES = 20_000;

interface RegionTexts {
  readonly state: string;
  /** Epoch milliseconds: the earliest time for which the quotes were made. */
  readonly since: number;
  readonly texts: Map<string, string>;
}

/**
 * Caches the quotes of each region as JSON, for the newest state for which one was requested. While the lake and the
 * state of the market do not change, a quote is made only once.
 */
export class QuoteTexts {
  readonly #regions = new Map<Region, RegionTexts>();

  /**
   * The cached quotes of a region by symbol; the caller may add others to this map.
   *
   * @param state everything that the quotes depend on except the symbol. @param now epoch milliseconds.
   */
  of(region: Region, state: string, now: number): Map<string, string> {
    const known = this.#regions.get(region);
    if (known?.state === state && now >= known.since) return known.texts;
    const texts = new Map<string, string>();
    this.#regions.set(region, { state, since: now, texts });
    return texts;
  }
}
