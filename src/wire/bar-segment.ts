import type { Region } from "../market/regions.js";
import type { KlineColumns } from "./kline-columns.js";

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
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
  /** Whether all bars are final; if false, none is. */
  readonly isFinal: boolean;
}

export function firstTime({ columns, start }: BarSegment): number {
  return Number(columns.timestamp[start]);
}

export function lastTime({ columns, end }: BarSegment): number {
  return Number(columns.timestamp[end - 1]);
}
