import { isPresent } from "../../core/bits.js";
import type { KlineRun, KlineValues } from "../../wire/kline-columns.js";

/** One bar as an object, for the few bars that a quote needs. */
export interface LastBar {
  /** Epoch milliseconds. */
  readonly timestamp: number;
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  /** In the unit of the run. */
  readonly volume: number;
  /** In the currency of the symbol. */
  readonly amount: number;
  /** Null where it is not known. */
  readonly prevClose: number | null;
}

/** The bars of a run, ascending. Volumes above 2^53 are rounded to a double. */
export function barsOf({ values, start, end }: KlineRun): LastBar[] {
  const bars: LastBar[] = [];
  for (let row = start; row < end; row++) bars.push(barOf(values, row));
  return bars;
}

function barOf({ timestamp, volume, doubles }: KlineValues, row: number): LastBar {
  const { values, validity } = doubles.prev_close;
  return {
    timestamp: Number(timestamp[row]),
    open: doubles.open.values[row] as number,
    high: doubles.high.values[row] as number,
    low: doubles.low.values[row] as number,
    close: doubles.close.values[row] as number,
    volume: Number(volume[row]),
    amount: doubles.amount.values[row] as number,
    prevClose: isPresent(validity, row) ? (values[row] as number) : null,
  };
}
