import type { KlineColumns } from "../kline-columns.js";

/** The bars of a decoded K-line response. */
export interface DecodedBars {
  readonly columns: KlineColumns;
  /** Number of bars of each symbol in the response, before any was rejected. */
  readonly received: ReadonlyMap<string, number>;
  /**
   * Timestamps (epoch milliseconds) of the bars that were rejected for a defect, by symbol; absent where not all are
   * known.
   */
  readonly setAsideAt: ReadonlyMap<string, readonly number[]>;
}

/** Of a complete body. */
export interface DecodedDocument extends DecodedBars {
  /** Symbols in the body that may be unusable: all symbols except those that were read together with others. */
  readonly named: ReadonlySet<string>;
}
