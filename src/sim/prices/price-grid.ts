import type { Board } from "../board.js";

/** HKEX spread table, part A: for prices below `below`, the smallest price step; both in thousandths of HKD. */
const HK_SPREADS: readonly (readonly [below: number, tick: number])[] = [
  [250, 1],
  [500, 5],
  [10_000, 10],
  [20_000, 20],
  [100_000, 50],
  [200_000, 100],
  [500_000, 200],
  [1_000_000, 500],
  [2_000_000, 1000],
  [5_000_000, 2000],
  [Number.POSITIVE_INFINITY, 5000],
];

/** The range in which a day's prices may be if the exchange sets no limit, as factors of the previous close. */
const FREE_RANGE = { CN: [0.6, 2], HK: [0.72, 1.38], US: [0.6, 1.6] } as const;

/** The smallest step at a price on the HK exchange; both in thousandths of HKD. */
export function hkTick(milli: number): number {
  return (HK_SPREADS.find(([below]) => milli < below) as readonly [number, number])[1];
}

/**
 * The step of all prices of a day, in thousandths of the currency, from its previous close.
 *
 * Where the step depends on the price (HK), the result is valid for every price that the day can reach: the least
 * common multiple of the steps between 0.7 and 1.4 times the previous close.
 */
export function dayTick(board: Board, referenceMilli: number): number {
  if (board.tickMilli > 0) return board.tickMilli;
  const low = hkTick(referenceMilli * 0.7);
  const high = hkTick(referenceMilli * 1.4);
  return (low * high) / greatestDivisor(low, high);
}

/** Rounds a price to the step that applies at that price; both in thousandths of the currency. */
export function onGrid(board: Board, milli: number): number {
  const tick = dayTick(board, milli);
  return Math.max(tick, Math.round(milli / tick) * tick);
}

/**
 * Highest price of a day, in steps of `tick`: prev_close plus the limit, rounded half up to a step, as the Chinese
 * exchanges do. On a day without a limit (`free`), and outside China, it is the bound of the simulation.
 */
export function highestTicks(board: Board, referenceMilli: number, tick: number, free: boolean): number {
  if (board.limitPercent === undefined || free) {
    return Math.floor((referenceMilli * FREE_RANGE[board.region][1]) / tick);
  }
  return Math.floor(((referenceMilli / tick) * (100 + board.limitPercent) + 50) / 100);
}

/** Lowest price of a day, in steps of `tick`; the counterpart of {@link highestTicks}. */
export function lowestTicks(board: Board, referenceMilli: number, tick: number, free: boolean): number {
  if (board.limitPercent === undefined || free) {
    return Math.ceil((referenceMilli * FREE_RANGE[board.region][0]) / tick);
  }
  return Math.floor(((referenceMilli / tick) * (100 - board.limitPercent) + 50) / 100);
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
