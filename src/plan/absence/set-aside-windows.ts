import type { TimeRange } from "../../core/time.js";
import { dayAt, daysOverlapped, type TradingDays } from "../../market/trading-days.js";

/** A part of a window, and the number of bars in it that were set aside. */
export interface SetAsideWindow {
  readonly window: TimeRange;
  readonly bars: number;
}

/** Most windows for one symbol and response. If there are more, they are joined to one. */
const MOST_WINDOWS = 8;

/**
 * The trading days of the bars that were set aside, with adjacent days joined. Only these are requested again.
 *
 * @param times epoch milliseconds, in any order.
 * @param window the requested window; `days` are its trading days, ascending.
 * @returns undefined where a bar is on no known trading day; then only the whole window is certain to contain the bars.
 */
export function setAsideWindows(
  times: readonly number[],
  { window, days }: { readonly window: TimeRange; readonly days: TradingDays },
): SetAsideWindow[] | undefined {
  const barsOf = new Map<number, number>();
  for (const at of times) {
    const { first, end } = daysOverlapped(days, { start: at, end: at + 1 });
    if (first === end) return undefined;
    barsOf.set(first, (barsOf.get(first) ?? 0) + 1);
  }
  const runs: { first: number; last: number; bars: number }[] = [];
  for (const [day, bars] of [...barsOf].sort(([a], [b]) => a - b)) {
    const run = runs.at(-1);
    if (run?.last !== day - 1) runs.push({ first: day, last: day, bars });
    else [run.last, run.bars] = [day, run.bars + bars];
  }
  const [first, last] = [runs[0], runs.at(-1)];
  if (first === undefined || last === undefined) return undefined;
  const joined =
    runs.length > MOST_WINDOWS ? [{ first: first.first, last: last.last, bars: times.length }] : runs;
  return joined.map((run) => ({
    window: {
      start: Math.max(window.start, dayAt(days, run.first).start),
      end: Math.min(window.end, dayAt(days, run.last).end),
    },
    bars: run.bars,
  }));
}
