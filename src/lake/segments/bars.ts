import type { TargetColumn } from "./block.js";

/** A range of trading dates (days since 1970-01-01) or of instants (epoch microseconds); `to` is exclusive. */
export interface BarsRange {
  readonly from: number;
  readonly to: number;
}

/** Which bars of a table are read. */
export interface BarsDemand {
  /** The symbols, without repeats. The result is in their order. */
  readonly symbols: readonly string[];
  /** Whether the ranges are of trading dates or of instants. */
  readonly by: "day" | "time";
  readonly rangeOf: (symbol: string) => BarsRange;
  /** The share of a larger result that this one is: it may read this share of the most bytes. @default 1 */
  readonly share?: number;
  /** Names of stored columns. */
  readonly columns: ReadonlySet<string>;
  /** Returns memory of at least a number of bytes for a column. @default new memory */
  readonly take?: ((bytes: number) => ArrayBuffer) | undefined;
}

/** Consecutive rows of one symbol and one partition. */
export interface BarsRun {
  readonly symbol: string;
  readonly region: string;
  /** The year, or the first day of the month in days since 1970-01-01. */
  readonly partition: number;
  readonly rows: number;
}

/** Bars in the order of the demand's symbols and, for each symbol, of time. */
export interface Bars {
  readonly rows: number;
  readonly runs: readonly BarsRun[];
  /** The requested columns, with space for `rows` values or more. */
  readonly columns: ReadonlyMap<string, TargetColumn>;
}
