import type { SimInstrument } from "../instrument.js";
import { onGrid } from "../prices/price-grid.js";
import { integer, logUniform, uniform } from "../random.js";
import type { RegionCalendar } from "../trading-days.js";

const YEAR_DAYS = 365.25;

/** Whether an ex-date is on a trading day, or between it and the previous trading day. */
export function exEventDue(instrument: SimInstrument, calendar: RegionCalendar, dayIndex: number): boolean {
  if (dayIndex === 0) return false;
  const period = YEAR_DAYS / instrument.board.payouts;
  const phase = period - exDayOfYear(instrument);
  const before = calendar.epochDays[dayIndex - 1] as number;
  const day = calendar.epochDays[dayIndex] as number;
  return Math.floor((day + phase) / period) !== Math.floor((before + phase) / period);
}

/** The number of shares that one share becomes on an ex-date; usually 1, and 0.1 in a consolidation. */
export function splitOf(instrument: SimInstrument, dayKey: number, closeMilli: number): number {
  const { splits, splitRatios, consolidatesBelow } = instrument.board;
  if (closeMilli < consolidatesBelow * 1000 && uniform(dayKey, 13) < 0.4) return 0.1;
  if (uniform(dayKey, 10) >= splits) return 1;
  return splitRatios[integer(dayKey, 11, splitRatios.length)] as number;
}

/**
 * The prev_close of an ex-date, in thousandths of the currency: (close - dividend) / split ratio, rounded to the price
 * step. It equals the close where the instrument pays nothing.
 */
export function exReference(
  instrument: SimInstrument,
  dayKey: number,
  closeMilli: number,
  splitRatio: number,
): number {
  const { board } = instrument;
  const pays = uniform(instrument.key, 22) < board.payers;
  const yielded = pays ? logUniform(dayKey, 12, board.dividend) : 0;
  if (yielded === 0 && splitRatio === 1) return closeMilli;
  return onGrid(board, (closeMilli * (1 - yielded)) / splitRatio);
}

/**
 * The day of the year of an instrument's ex-date. Most Chinese ex-dates are in May to July; in other regions they are
 * spread over the year.
 */
function exDayOfYear(instrument: SimInstrument): number {
  const { key, board } = instrument;
  if (board.region === "CN" && uniform(key, 23) < 0.7) return 120 + integer(key, 24, 90);
  return integer(key, 24, Math.floor(YEAR_DAYS / board.payouts));
}
