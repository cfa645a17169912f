import type { KlineColumns } from "../kline-columns.js";

/** The bars of a decoded K-line response. */
export interface DecodedBars {
  readonly columns: KlineColumns;
  /** Number of bars of each symbol in the response, before any was rejected. */
  readonly received: ReadonlyMap<string, number>;
  /**
   * Timestamps of the bars of each symbol that were rejected for a defect, in epoch milliseconds; a symbol has none where
   * not all of them are known.
   */
  readonly setAsideAt: ReadonlyMap<string, readonly number[]>;
}

/** The decoded content of a whole body. */
export interface DecodedDocument extends DecodedBars {
  /** The symbols in the body that may not be usable: all but those that were read together with others. */
  readonly named: ReadonlySet<string>;
}
