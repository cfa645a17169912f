import { isPresent } from "../../core/bits.js";
import type { TimeRange } from "../../core/time.js";
import type { Region } from "../../market/regions.js";
import type { LastBar } from "../klines/last-bars.js";
import { inUnits, type QuoteBars } from "../klines/quote-bars.js";
import type { Minutes } from "./read-minutes.js";

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };

/** The bars for a symbol's quote during a day. {@link addMinute} updates them. */
export interface RunningBars {
  readonly symbol: string;
  readonly region: Region;
  /**
   * The latest day of the region if it is not final; undefined where it is final, so that its minutes make no daily
   * bar.
   */
  readonly runningDay: TimeRange | undefined;
  /** The previous close that the exchange states before the running day begins. */
  readonly statedPrevClose: number | null;
  daily: readonly LastBar[];
  /** The ended minutes of the latest day as one bar; its volume is in shares. */
  minutes: Mutable<LastBar> | undefined;
}

/** Adds the next minute of the latest day, by the rules of {@link BAR_AGGREGATES}. */
export function addMinute(bars: RunningBars, { columns }: Minutes, row: number): void {
  const { timestamp, open, high, low, close, shares, amount, prev_close } = columns;
  const { minutes } = bars;
  if (minutes !== undefined) {
    minutes.timestamp = timestamp.values[row] as number;
    minutes.high = Math.max(minutes.high, high.values[row] as number);
    minutes.low = Math.min(minutes.low, low.values[row] as number);
    minutes.close = close.values[row] as number;
    minutes.volume += shares.values[row] as number;
    minutes.amount += amount.values[row] as number;
    return;
  }
  bars.minutes = {
    timestamp: timestamp.values[row] as number,
    open: open.values[row] as number,
    high: high.values[row] as number,
    low: low.values[row] as number,
    close: close.values[row] as number,
    volume: shares.values[row] as number,
    amount: amount.values[row] as number,
    prevClose: isPresent(prev_close.validity, row) ? (prev_close.values[row] as number) : null,
  };
  const { daily, minutes: first, runningDay, statedPrevClose } = bars;
  // The first minute of a day that is not final begins the bar of this day.
  if (runningDay === undefined) return;
  const forming = { ...first, timestamp: runningDay.start, prevClose: first.prevClose ?? statedPrevClose };
  bars.daily = [...daily.slice(-1), forming];
}

/** The bars in the form in which a request would read them from the lake. */
export function quoteBarsOf({ daily, minutes, region }: RunningBars): QuoteBars {
  return { daily, minutes: minutes && inUnits(minutes, region) };
}
