import type { LentMemory } from "../../core/memory-pool.js";
import type { TimeRange } from "../../core/time.js";
import type { Adjustment } from "../../market/period.js";
import type { Region } from "../../market/regions.js";
import type { Series } from "./series.js";

/** A request for bars. */
export interface KlinesRequest {
  /** The symbols, without repeats. The response is in their order. */
  readonly symbols: readonly string[];
  readonly series: Series;
  readonly adjustment: Adjustment;
  /** Most bars of each symbol; the newest ones are returned. */
  readonly count: number;
  /** The range of a region's bars, in epoch milliseconds, within the years 1 to 9999. */
  readonly rangeOf: (region: Region) => TimeRange;
  /** Whether a symbol is known without reading the table; a known symbol has an entry even without bars. */
  readonly isKnown: (symbol: string) => boolean;
  /** Shares in one unit of volume. @default the region's unit */
  readonly unitOf?: (region: Region) => number;
  /** Memory that bars may be read into. @default new memory, for bars that are used longer than a response */
  readonly memory?: LentMemory | undefined;
}
