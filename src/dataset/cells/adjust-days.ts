import { exFactor } from "../../market/adjustment/ex-events.js";
import { type IsUnknownBetween, UNKNOWN_DAYS } from "../../market/trading-calendar.js";

/** The state of symbols' factors after the rows processed so far. */
export interface FactorState {
  /** The calendar of each symbol's region. */
  readonly isUnknownBetween: readonly IsUnknownBetween[];
  readonly lastDay: Int32Array;
  readonly lastClose: Float64Array;
  readonly factor: Float64Array;
}

/** Some daily rows with prices as traded. A missing price is NaN. */
export interface DailyPrices {
  readonly rows: number;
  /** Index of the row's symbol in the state, negative if it is not in it; and the date as days since 1970-01-01. */
  readonly symbol: Int32Array;
  readonly day: Int32Array;
  readonly close: Float64Array;
  readonly prevClose: Float64Array;
}

/** The state before the first row of the symbols, each with the calendar of its region. */
export function firstFactors(isUnknownBetween: readonly IsUnknownBetween[]): FactorState {
  const symbols = isUnknownBetween.length;
  return {
    isUnknownBetween,
    lastDay: new Int32Array(symbols).fill(-0x80000000),
    lastClose: new Float64Array(symbols).fill(Number.NaN),
    factor: new Float64Array(symbols).fill(1),
  };
}

/**
 * Computes each row's factor for backward adjustment: the product, from a symbol's first row on, of `last close /
 * stated previous close` over the days on which these differ, unless the days between are unknown to the calendar. A
 * row's factor does not depend on later rows. The products, and their order, are those of the macro `adjustment_steps`.
 *
 * @param state the state after the earlier rows; it is updated.
 * @param factors receives each row's factor.
 * @returns false where a symbol's days do not ascend: the factors are then invalid.
 */
export function backwardFactors(
  { rows, symbol, day, close, prevClose }: DailyPrices,
  { isUnknownBetween, lastDay, lastClose, factor }: FactorState,
  factors: Float64Array,
): boolean {
  for (let row = 0; row < rows; row++) {
    const s = symbol[row] as number;
    if (s < 0) continue;
    const today = day[row] as number;
    const before = lastDay[s] as number;
    if (today <= before) return false;
    const isHole = today - before >= UNKNOWN_DAYS && isUnknownBetween[s]?.(before, today) === true;
    if (!isHole)
      factor[s] = (factor[s] as number) * exFactor(lastClose[s] as number, prevClose[row] as number);
    lastDay[s] = today;
    lastClose[s] = close[row] as number;
    factors[row] = factor[s] as number;
  }
  return true;
}
