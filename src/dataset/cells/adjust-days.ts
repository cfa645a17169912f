import { exFactor } from "../../market/ex-events.js";

/** How far symbols' factors have come: what each has after its last row so far. */
export interface FactorState {
  readonly lastDay: Int32Array;
  readonly lastClose: Float64Array;
  readonly factor: Float64Array;
}

/** Some daily rows as they were traded. A price that is not there is NaN. */
export interface DailyPrices {
  readonly rows: number;
  /** Index of the row's symbol in the state, negative for one that is not in it; and its date as days since 1970-01-01. */
  readonly symbol: Int32Array;
  readonly day: Int32Array;
  readonly close: Float64Array;
  readonly prevClose: Float64Array;
}

/** The state of symbols before their first row. */
export function firstFactors(symbols: number): FactorState {
  return {
    lastDay: new Int32Array(symbols).fill(-0x80000000),
    lastClose: new Float64Array(symbols).fill(Number.NaN),
    factor: new Float64Array(symbols).fill(1),
  };
}

/**
 * Works out each row's factor for backward adjustment: the product, from a symbol's first row on, of `last close / previous
 * close as stated` over the days on which these differ. No row's factor depends on a later row. The same products, in the
 * same order, as those of the macro `adjustment_steps`.
 *
 * @param state where earlier rows left off; it goes on.
 * @param factors gets each row's factor.
 * @returns false where a symbol's days do not ascend: the factors are of no use then.
 */
export function backwardFactors(
  { rows, symbol, day, close, prevClose }: DailyPrices,
  { lastDay, lastClose, factor }: FactorState,
  factors: Float64Array,
): boolean {
  for (let row = 0; row < rows; row++) {
    const s = symbol[row] as number;
    if (s < 0) continue;
    if ((day[row] as number) <= (lastDay[s] as number)) return false;
    lastDay[s] = day[row] as number;
    const last = factor[s] as number;
    factor[s] = last * exFactor(lastClose[s] as number, prevClose[row] as number);
    lastClose[s] = close[row] as number;
    factors[row] = factor[s];
  }
  return true;
}
