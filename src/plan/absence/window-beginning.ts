import { int64At } from "../../core/bits.js";
import { lowerBound } from "../../core/lower-bound.js";
import { MINUTE_MS, subtractRanges, type TimeRange } from "../../core/time.js";
import type { LandedPeriod } from "../../market/period.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { openMinute } from "../../market/sessions.js";
import { regionOf } from "../../market/symbol.js";
import { dayAt, firstDayAfter, type TradingDays } from "../../market/trading-calendar.js";
import { instantOf, localDate } from "../../market/zone.js";
import type { KlineColumns } from "../../wire/kline-columns.js";

/** The bars of one symbol in a response: the rows from `start` to `end` (exclusive). */
export interface SymbolSpan {
  readonly symbol: string;
  readonly start: number;
  readonly end: number;
}

export interface SymbolRows {
  readonly symbol: string;
  /** Number of received bars, including those that were set aside. */
  readonly rows: number;
  /** Whether the oldest bar is later than the first expected bar of the window. */
  readonly beginsLate: boolean;
}

/** The bars of one symbol in a response, and where they begin. */
export interface SymbolBeginning extends SymbolRows {
  /** Epoch milliseconds of the oldest bar and of the newest. */
  readonly oldest: number;
  readonly newest: number;
}

/** The facts that define the first expected bar of a window. */
interface ExpectedDays {
  readonly region: Region;
  readonly period: LandedPeriod;
  /** Trading days of the window, ascending. */
  readonly days: TradingDays;
  /** Ranges in which the region did not trade, as far as this run knows. */
  readonly closed: readonly TimeRange[];
  /** When symbols began to trade, where that is known; epoch milliseconds. */
  readonly listedAt: ReadonlyMap<string, number>;
  /**
   * How much later than a landed bar the first bar of an aggregated period may be labelled, in milliseconds. @default 0
   */
  readonly labelledLaterMs?: number | undefined;
}

/** The rows of each symbol of a response, in the order of the response; symbols without a bar are left out. */
export function symbolSpans({ rows, symbols, symbolIndex }: KlineColumns): SymbolSpan[] {
  const spans: SymbolSpan[] = [];
  for (let start = 0, end = 0; start < rows; start = end) {
    const index = symbolIndex[start] as number;
    end = lowerBound(start + 1, rows, (row) => symbolIndex[row] !== index);
    spans.push({ symbol: symbols[index] as string, start, end });
  }
  return spans;
}

/**
 * Where a symbol's bars begin, and whether its oldest bar is the first one that can be expected: that of the first
 * trading day of the window, or of the first day since the symbol was listed, unless it has bars before that day. For
 * minutes it is the first minute of the day, because a response can be cut within a day.
 */
export function beginningOf(
  span: SymbolSpan,
  received: number,
  { timestamp }: Pick<KlineColumns, "timestamp">,
  expected: ExpectedDays,
): SymbolBeginning {
  const { symbol, start } = span;
  const oldest = Number(timestamp[start]);
  const listed = expected.listedAt.get(symbol) ?? Number.NEGATIVE_INFINITY;
  // A listing date that is later than a bar is wrong, so it does not show where the bars begin.
  const first = firstOpenDay(expected, oldest < listed ? Number.NEGATIVE_INFINITY : listed);
  const { labelledLaterMs = 0 } = expected;
  const limit =
    first === undefined ? oldest : first.start + firstBarMs(span, timestamp, expected) + labelledLaterMs;
  const newest = Number(timestamp[span.end - 1]);
  return { symbol, rows: received, oldest, newest, beginsLate: oldest > limit };
}

/** The first day that ends after an instant and on which the region may have traded. */
function firstOpenDay({ days, closed }: ExpectedDays, instant: number): TimeRange | undefined {
  for (let index = firstDayAfter(days, instant); index < days.length; index++) {
    const day = dayAt(days, index);
    if (subtractRanges(day, closed).length > 0) return day;
  }
  return undefined;
}

/**
 * Longest time after a day's midnight at which its first bar is labelled, in milliseconds. A daily bar is labelled with
 * midnight of the region's zone or, where its clocks have changed, of another zone. Minutes begin with the bar of the
 * opening auction if the symbol has one on the next day.
 */
function firstBarMs(
  { start, end }: SymbolSpan,
  timestamp: KlineColumns["timestamp"],
  { region, period, days }: ExpectedDays,
): number {
  if (period === "1d") return 12 * 60 * MINUTE_MS;
  const open = openMinute(region) * MINUTE_MS;
  const oldest = Number(timestamp[start]);
  const todayEnd = days.ends[firstDayAfter(days, oldest)];
  if (todayEnd === undefined) return open + MINUTE_MS;
  const next = lowerBound(start, end, (row) => Number(timestamp[row]) >= todayEnd);
  if (next === end) return open + MINUTE_MS;
  const at = Number(timestamp[next]);
  const midnight = days.starts[firstDayAfter(days, at)];
  return midnight !== undefined && at - midnight <= open ? open : open + MINUTE_MS;
}

/**
 * The trading days on which a symbol has a bar, by index, ascending. Bars and days are traversed together, because in a
 * history of daily bars nearly every bar is on the next day.
 *
 * @param words the timestamps of the response, epoch milliseconds.
 */
export function daysWithBars({ start, end }: SymbolSpan, words: Uint32Array, days: TradingDays): number[] {
  const found: number[] = [];
  const { length, starts, ends } = days;
  let day = start < end ? firstDayAfter(days, int64At(words, start)) : length;
  for (let row = start; row < end && day < length; ) {
    const at = int64At(words, row);
    while (day < length && (ends[day] as number) <= at) day += 1;
    if (day === length) break;
    const isWithin = (starts[day] as number) <= at;
    if (isWithin) found.push(day);
    const limit = (isWithin ? ends[day] : starts[day]) as number;
    row += 1;
    if (row < end && int64At(words, row) < limit)
      row = lowerBound(row + 1, end, (one) => int64At(words, one) >= limit);
  }
  return found;
}

export function rowsBetween(
  { start, end }: SymbolSpan,
  { timestamp }: Pick<KlineColumns, "timestamp">,
  range: TimeRange,
): number {
  const before = (at: number): number => lowerBound(start, end, (row) => Number(timestamp[row]) >= at);
  return before(range.end) - before(range.start);
}

export interface CutDay {
  /** Number of symbols that have the largest number of bars, and lack the first minute. */
  readonly symbols: number;
  /** Number of bars of each of them. */
  readonly bars: number;
  /** The time of the oldest of these bars, in epoch milliseconds. */
  readonly since: number;
}

/**
 * Finds out whether a response about the latest day was cut at a number of bars for each symbol. Then the symbols with
 * the most bars have equally many, and none of them begins with its session. One symbol alone shows nothing, because it
 * may not have traded.
 *
 * @returns undefined where the day seems complete.
 */
export function cutDay(columns: KlineColumns): CutDay | undefined {
  const spans = symbolSpans(columns);
  const bars = spans.reduce((most, { start, end }) => Math.max(most, end - start), 0);
  const longest = spans.filter(({ start, end }) => end - start === bars);
  if (longest.length < 2) return undefined;
  let since = Number.POSITIVE_INFINITY;
  for (const { symbol, start } of longest) {
    const region = regionOf(symbol);
    if (region === undefined) return undefined;
    const first = Number(columns.timestamp[start]);
    const { zone } = REGIONS[region];
    // A minute is labelled with its end.
    if (first <= instantOf(localDate(first, zone), zone, openMinute(region)) + MINUTE_MS) return undefined;
    since = Math.min(since, first);
  }
  return { symbols: longest.length, bars, since };
}
