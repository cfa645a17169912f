import type { TimeRange } from "../../../../src/core/time.js";

/** A time range of a symbol; epoch milliseconds, the end exclusive. */
export interface SymbolTime extends TimeRange {
  readonly symbol: string;
}
