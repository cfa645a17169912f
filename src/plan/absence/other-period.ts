import { int64At } from "../../core/bits.js";
import { DAY_MS, MINUTE_MS } from "../../core/time.js";
import type { LandedPeriod } from "../../market/period.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { UNKNOWN_DAYS } from "../../market/trading-calendar.js";
import { instantOfDay, localDay } from "../../market/zone.js";
import type { SymbolSpan } from "./window-beginning.js";

/** Number of pairs of neighbouring bars that is sufficient to recognise another period by their distances. */
const MANY_PAIRS = 10;
/** The minutes of all other periods are multiples of five, and at most an hour. */
const FIVE_MINUTES_MS = 5 * MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;
/**
 * Of this many pairs of weekly bars, at most one is three days apart: from a Friday to a Monday that is the only session
 * of its week.
 */
const PAIRS_PER_SHORT_WEEK = 25;
/** Share of the pairs of a longer period that are in neighbouring weeks, months, quarters or years: holidays separate others. */
const REGULAR_SHARE = 0.8;
/** No holiday separates two sessions by this time: see `UNKNOWN_DAYS`. */
const LONG_MS = UNKNOWN_DAYS * DAY_MS;
/** Months from a bar to the next one: of months, quarters and years. */
const MONTHS_APART = [1, 3, 12];

/**
 * What the times of a symbol's bars show: that they have the requested period, that they have another one, or else a
 * number of pairs of neighbouring bars, all of which are as far apart as bars of a longer period.
 */
type Evidence = "requested" | "another" | number;

/** How the bars of a response were requested. */
export interface RequestedPeriod {
  readonly region: Region;
  readonly period: LandedPeriod;
  /** Whether a longer period was requested, whose bars are aggregated from `period`. */
  readonly isAggregated: boolean;
}

/**
 * The symbols of a response whose bars have another period than the requested one. Symbols with too few bars to show
 * their period are among them if other bars of the response have another period, and none has the requested one.
 *
 * @param words the timestamps of the response, epoch milliseconds.
 */
export function symbolsOfOtherPeriod(
  spans: readonly SymbolSpan[],
  words: Uint32Array,
  { region, period, isAggregated }: RequestedPeriod,
): Set<string> {
  const { zone } = REGIONS[region];
  const found = new Set<string>();
  let hasRequested = false;
  // Few minutes of several symbols count together, and days that no holiday separates. Other days do not: a holiday
  // separates the bars of all symbols.
  let pairs = 0;
  let long = 0;
  for (const span of spans) {
    const shown = period === "1d" ? evidenceOfDays(span, words, zone) : evidenceOfMinutes(span, words, zone);
    if (shown === "requested") hasRequested = true;
    else if (shown === "another") found.add(span.symbol);
    else if (!isAggregated) {
      if (shown >= MANY_PAIRS) found.add(span.symbol);
      pairs = period === "1d" ? Math.max(pairs, shown) : pairs + shown;
      if (period === "1d" && areLongApart(span, words)) long += shown;
    }
  }
  if (!hasRequested && Math.max(pairs, long) >= MANY_PAIRS) for (const { symbol } of spans) found.add(symbol);
  return found;
}

/**
 * Two bars of one day whose distance is no multiple of five minutes are minutes; in most responses the first two bars show
 * it. Bars that are all at midnight are not. Distances of more than an hour show no longer period: some symbols trade only in the
 * auctions of the opening and of the close.
 */
function evidenceOfMinutes({ start, end }: SymbolSpan, words: Uint32Array, zone: string): Evidence {
  let pairs = 0;
  for (let row = start + 1; row < end; row++) {
    const [before, at] = [int64At(words, row - 1), int64At(words, row)];
    const apart = at - before;
    if (apart % FIVE_MINUTES_MS === 0) pairs += apart <= HOUR_MS ? 1 : 0;
    else if (apart <= HOUR_MS || localDay(before, zone) === localDay(at, zone)) return "requested";
  }
  if (pairs > 0) return pairs;
  for (let row = start; row < end; row++) {
    const at = int64At(words, row);
    if (at !== instantOfDay(localDay(at, zone), zone)) return 0;
  }
  return "another";
}

/**
 * Bars that are one or two whole days apart are days; in most responses two of the first three are. An hour more or less
 * is a change of clocks. Bars of less than half a day apart are minutes, also where a night or a weekend is between the
 * first two. Bars of some symbols, which trade on few days, are all further apart, but not regularly.
 */
function evidenceOfDays(span: SymbolSpan, words: Uint32Array, zone: string): Evidence {
  const { start, end } = span;
  let [pairs, short] = [0, 0];
  for (let row = start + 1; row < end; row++) {
    const apart = int64At(words, row) - int64At(words, row - 1);
    if (apart < DAY_MS / 2) return "another";
    const days = Math.round(apart / DAY_MS);
    const rest = apart - days * DAY_MS;
    if (rest !== 0 && rest !== HOUR_MS && rest !== -HOUR_MS) continue;
    if (days < 3) return "requested";
    pairs += 1;
    if (days === 3) short += 1;
  }
  if (short * PAIRS_PER_SHORT_WEEK > pairs) return "requested";
  return pairs >= MANY_PAIRS && !isRegular(span, words, zone) ? "requested" : pairs;
}

/** Whether all bars are further apart than any holiday separates sessions. */
function areLongApart({ start, end }: SymbolSpan, words: Uint32Array): boolean {
  for (let row = start + 1; row < end; row++)
    if (int64At(words, row) - int64At(words, row - 1) < LONG_MS) return false;
  return true;
}

/** Whether nearly all bars are followed by one in the next week, or nearly all by one in the next month, quarter or year. */
function isRegular({ start, end }: SymbolSpan, words: Uint32Array, zone: string): boolean {
  let weekly = 0;
  const monthly = new Map<number, number>();
  let before = unitsOf(localDay(int64At(words, start), zone));
  for (let row = start + 1; row < end; row++) {
    const at = unitsOf(localDay(int64At(words, row), zone));
    if (at.week - before.week === 1) weekly += 1;
    const months = at.month - before.month;
    monthly.set(months, (monthly.get(months) ?? 0) + 1);
    before = at;
  }
  const least = REGULAR_SHARE * (end - start - 1);
  return weekly >= least || MONTHS_APART.some((months) => (monthly.get(months) ?? 0) >= least);
}

/** The numbers of a day's week, which begins on Monday, and of its month. @param day days since 1970-01-01, a Thursday. */
function unitsOf(day: number): { readonly week: number; readonly month: number } {
  const date = new Date(day * DAY_MS);
  return { week: Math.floor((day + 3) / 7), month: date.getUTCFullYear() * 12 + date.getUTCMonth() };
}
