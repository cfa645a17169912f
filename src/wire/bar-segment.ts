import type { Region } from "../market/regions.js";
import type { KlineColumns } from "./kline-columns.js";

/** Columns of bars, and where they came from. */
export interface DeliveredBars {
  readonly columns: KlineColumns;
  /** For the rejects: what delivered the bars. */
  readonly source: string;
}

/** Bars of one symbol that stand together in the columns of a delivery: ascending in time, and not copied. */
export interface BarSegment extends DeliveredBars {
  readonly symbol: string;
  /** Undefined where the symbol's exchange is not a known one. */
  readonly region: Region | undefined;
  /** First row. */
  readonly start: number;
  /** Row after the last. */
  readonly end: number;
  /** Whether all of the bars are final; else none is. */
  readonly isFinal: boolean;
}

/** Epoch milliseconds of a segment's first bar. */
export function firstTime({ columns, start }: BarSegment): number {
  return Number(columns.timestamp[start]);
}

/** Epoch milliseconds of a segment's last bar. */
export function lastTime({ columns, end }: BarSegment): number {
  return Number(columns.timestamp[end - 1]);
}
