import type { Region } from "../market/regions.js";
import type { KlineColumns } from "./kline-columns.js";

/** Bars as columns, and their source. */
export interface DeliveredBars {
  readonly columns: KlineColumns;
  /** The source of the bars, as rejects name it. */
  readonly source: string;
}

/** Contiguous bars of one symbol in the columns of a delivery: ascending in time, and not copied. */
export interface BarSegment extends DeliveredBars {
  readonly symbol: string;
  /** Undefined where the symbol's exchange is unknown. */
  readonly region: Region | undefined;
  /** The first row. */
  readonly start: number;
  /** The row after the last one. */
  readonly end: number;
  /** Whether all bars are final; if false, none is. */
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
