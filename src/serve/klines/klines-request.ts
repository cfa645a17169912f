import type { TimeRange } from "../../core/time.js";
import type { Adjustment } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import type { Series } from "./series.js";

/** A request for bars. */
export interface KlinesRequest {
  /** Without repeats; the response has their order. */
  readonly symbols: readonly string[];
  readonly series: Series;
  readonly adjustment: Adjustment;
  /** Largest number of bars of each symbol; the newest ones are returned. */
  readonly count: number;
  /** Range of a region's bars, epoch milliseconds, within the years 1 to 9999. */
  readonly rangeOf: (region: Region) => TimeRange;
  /** Whether a symbol is known without reading the table; a known symbol has an entry even without bars. */
  readonly isKnown: (symbol: string) => boolean;
  /** Shares in a unit of volume. @default the region's unit */
  readonly unitOf?: (region: Region) => number;
}
