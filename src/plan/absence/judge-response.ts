import { int64At, int64Words } from "../../core/bits.js";
import { DAY_MS, MINUTE_MS, subtractRanges, type TimeRange } from "../../core/time.js";
import type { LandedPeriod } from "../../market/period.js";
import { REGIONS, type Region } from "../../market/regions.js";
import {
  dayAt,
  daysOverlapped,
  firstDayAfter,
  NO_DAYS,
  type TradingCalendar,
  type TradingDays,
  UNKNOWN_DAYS,
} from "../../market/trading-calendar.js";
import { instantOfDay, localDay } from "../../market/zone.js";
import type { DecodedKlines } from "../../wire/decode/decode-klines.js";
import { type AbsenceVerdict, judgeAbsence, MANY_SYMBOLS } from "./absence.js";
import {
  coveredTime,
  judgeBeginnings,
  type Page,
  type RowCap,
  type SymbolWindow,
  type Verdict,
} from "./older-bars.js";
import { beginningOf, daysWithBars, type SymbolSpan, symbolSpans } from "./window-beginning.js";

interface SetAsideWindow {
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

interface ResponseFacts {
  readonly period: LandedPeriod;
  readonly calendar: Pick<TradingCalendar, "daysIn"> | undefined;
  /** Ranges in which the region did not trade, as far as this run knows. */
  readonly closed: readonly TimeRange[];
  /** When symbols began to trade, where that is known; epoch milliseconds. */
  readonly listedAt: ReadonlyMap<string, number>;
  /** Windows with a response of final bars, by symbol. */
  readonly covered: ReadonlyMap<string, readonly TimeRange[]>;
  readonly cap: RowCap;
  /** Symbols that traded up to the requested time: one response is not enough to believe their absence. @default none */
  readonly traded?: ReadonlySet<string> | undefined;
  /** Symbols whose bars the lake shows to have another period. @default none */
  readonly forming?: ReadonlySet<string> | undefined;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Identifies the response. */
  readonly source: string;
  /**
   * For a period that is aggregated from `period`: how much later its first bar may be labelled, in milliseconds.
   * @default 0
   */
  readonly labelledLaterMs?: number | undefined;
}

/** Bars of a symbol that were received but broke a rule, or have another period in the second response, too. */
interface LostBars extends SymbolWindow {
  /** Number of bars; undefined where it is not known. */
  readonly bars: number | undefined;
}

interface QuietSessions {
  readonly symbol: string;
  /** `not_yet`: before its first bar; `no_bar`: after it; `no_session`: no symbol of the response has one. */
  readonly reason: "not_yet" | "no_bar" | "no_session";
  readonly sessions: number;
}

export interface ResponseVerdict extends Verdict {
  readonly present: readonly string[];
  /** Symbols whose bars have another period than the requested one: none of them may land. */
  readonly mislabelled: ReadonlySet<string>;
  readonly absence: AbsenceVerdict;
  readonly lost: readonly LostBars[];
  readonly quiet: readonly QuietSessions[];
  /** Of daily bars: the stretches of settled sessions without a bar of a symbol that has some in the response. */
  readonly empty: readonly SymbolWindow[];
  readonly sessions: ReadonlyMap<string, number>;
}

/** Judges a response: the windows that it settles, the gaps that it leaves, absent bars and lost bars. */
export function judgeResponse(page: Page, response: DecodedKlines, facts: ResponseFacts): ResponseVerdict {
  const { columns, received, issues, unusable } = response;
  const spans = symbolSpans(columns);
  const days = facts.calendar?.daysIn(page.window, facts.now) ?? NO_DAYS;
  const expected = { ...facts, region: page.region, days };
  const present = spans.map(({ symbol }) => symbol);
  const hasStrangers = issues.counts.some(({ rule }) => rule === "not_requested" || rule === "bad_symbol");
  const strayed = strayedSymbols(response, new Set(present));
  const words = int64Words(columns.timestamp);
  const mislabelled = symbolsOfOtherPeriod(spans, words, {
    region: page.region,
    period: facts.period,
    isAggregated: (facts.labelledLaterMs ?? 0) > 0,
  });
  for (const symbol of facts.forming ?? []) mislabelled.add(symbol);
  // They are requested a second time. If they are of another period again, they count as set aside.
  const refused = page.again === undefined ? [] : [...mislabelled];
  for (const symbol of mislabelled) strayed.add(symbol);
  for (const symbol of refused) strayed.delete(symbol);
  const beginnings = spans
    .filter(({ symbol }) => !mislabelled.has(symbol))
    .map((span) => beginningOf(span, received.get(span.symbol) ?? 0, columns, expected));
  const judged = judgeAbsence(page.gaps === undefined ? response.absent : [], {
    present: beginnings.length,
    hasStrangers,
    traded: facts.traded,
  });
  // If the response to a follow-up request is not about a symbol, the symbol's gap remains open.
  const unconfirmed = page.gaps === undefined ? [...judged.unconfirmed, ...strayed] : [];
  const absence = { ...judged, unconfirmed };
  const open = new Set([...unusable, ...absence.unconfirmed, ...refused]);
  const covered = coveredTime({
    region: page.region,
    period: facts.period,
    daysIn: (range) => facts.calendar?.daysIn(range, facts.now) ?? NO_DAYS,
    covered: facts.covered,
  });
  const verdict = judgeBeginnings(page, beginnings, facts.cap, { source: facts.source, open, covered });
  const listed = (symbol: string): number => {
    const at = facts.listedAt.get(symbol) ?? Number.NEGATIVE_INFINITY;
    return days.length - firstDayAfter(days, at);
  };
  const lost = [
    ...lostBars(response, page, days).filter(({ symbol }) => !refused.includes(symbol)),
    ...refused.map((symbol) => ({ symbol, window: page.window, bars: received.get(symbol) })),
  ];
  const { quiet, empty } = quietSessions(page, spans, verdict, { days, columns, listedAt: facts.listedAt });
  return {
    ...verdict,
    present,
    mislabelled,
    absence,
    lost,
    quiet,
    empty: facts.period === "1d" ? withoutLost(empty, lost) : [],
    sessions: new Map(page.symbols.map((symbol) => [symbol, listed(symbol)])),
  };
}

/** Symbols with bars outside the window, or without valid bars: the response is not about the window. */
function strayedSymbols(
  { received, issues, unusable }: DecodedKlines,
  present: ReadonlySet<string>,
): Set<string> {
  const outside = issues.counts.flatMap(({ rule, symbol }) =>
    rule === "outside_window" && symbol !== undefined ? [symbol] : [],
  );
  const strayed = new Set(outside);
  for (const [symbol, bars] of received) if (bars > 0 && !present.has(symbol)) strayed.add(symbol);
  for (const symbol of unusable) strayed.delete(symbol);
  return strayed;
}

/**
 * Requested bars that were set aside, by the days to which they are known to belong. A repeat of a used bar is not
 * counted.
 */
function lostBars(
  { issues, unusable, received, setAsideAt }: DecodedKlines,
  { symbols, window }: Page,
  days: TradingDays,
): LostBars[] {
  const asked = new Set(symbols);
  const lost = new Map<string, number | undefined>(
    unusable.map((symbol) => [symbol, received.get(symbol) || undefined]),
  );
  const harmless = new Set(["duplicate_key", "unsorted", "outside_window", "not_requested", "bad_symbol"]);
  for (const { rule, symbol, rejected } of issues.counts) {
    if (symbol === undefined || !asked.has(symbol) || unusable.includes(symbol)) continue;
    if (rejected > 0 && !harmless.has(rule)) lost.set(symbol, (lost.get(symbol) ?? 0) + rejected);
  }
  return [...lost].flatMap(([symbol, bars]): LostBars[] => {
    const known = setAsideWindows(setAsideAt.get(symbol) ?? [], { window, days });
    return known?.map((part) => ({ symbol, ...part })) ?? [{ symbol, window, bars }];
  });
}

/** Stretches without the days whose bars were received and set aside. */
function withoutLost(empty: readonly SymbolWindow[], lost: readonly LostBars[]): readonly SymbolWindow[] {
  if (lost.length === 0) return empty;
  return empty.flatMap(({ symbol, window }) => {
    const cut = lost.filter((one) => one.symbol === symbol).map((one) => one.window);
    return subtractRanges(window, cut).map((left) => ({ symbol, window: left }));
  });
}

/** The sessions without a bar, for symbols that have bars. A follow-up request counts only the time that it settles. */
function quietSessions(
  page: Page,
  spans: readonly SymbolSpan[],
  { settled, gaps }: Verdict,
  {
    days,
    columns,
    listedAt,
  }: {
    readonly days: TradingDays;
    readonly columns: DecodedKlines["columns"];
    readonly listedAt: ReadonlyMap<string, number>;
  },
): { readonly quiet: readonly QuietSessions[]; readonly empty: readonly SymbolWindow[] } {
  const words = int64Words(columns.timestamp);
  const seen = new Map(spans.map((span) => [span.symbol, daysWithBars(span, words, days)]));
  // One entry for each day: whether any symbol has a bar on it.
  const open = new Uint8Array(days.length);
  for (const own of seen.values()) for (const day of own) open[day] = 1;
  // Before the first bar of all symbols, nothing shows whether a day had a session.
  const firstOpen = open.indexOf(1);
  const isClosed = (day: number): boolean =>
    spans.length >= MANY_SYMBOLS && firstOpen >= 0 && day > firstOpen && open[day] === 0;
  const inDoubt = new Set(gaps.map(({ symbol }) => symbol));
  const quiet: QuietSessions[] = [];
  const empty: SymbolWindow[] = [];
  for (const { symbols, window } of settled) {
    const { first, end } = daysOverlapped(days, window);
    // A follow-up request also returns the bar that was known before; its day is not counted again.
    const last = page.gaps === undefined ? Number.POSITIVE_INFINITY : window.end;
    for (const symbol of symbols) {
      const own = seen.get(symbol) ?? [];
      if (own.length === 0 && page.gaps === undefined) continue;
      const listed = listedAt.get(symbol) ?? Number.NEGATIVE_INFINITY;
      const counts = { not_yet: 0, no_bar: 0, no_session: 0 };
      const begin = own[0] ?? end;
      const isInDoubt = inDoubt.has(symbol);
      let stretch: { readonly first: number; last: number } | undefined;
      const endStretch = (): void => {
        if (stretch === undefined) return;
        const range = { start: dayAt(days, stretch.first).start, end: dayAt(days, stretch.last).end };
        empty.push({ symbol, window: range });
        stretch = undefined;
      };
      // Both lists of days are ascending, so they are traversed together.
      for (let day = first, next = 0; day < end; day++) {
        while (next < own.length && (own[next] as number) < day) next += 1;
        const dayEnd = days.ends[day] as number;
        if (own[next] === day) endStretch();
        if (own[next] === day || dayEnd <= listed || dayEnd > last) continue;
        if (day < begin && isInDoubt) continue;
        if (isClosed(day)) counts.no_session += 1;
        else {
          counts[day >= begin ? "no_bar" : "not_yet"] += 1;
          // Before the first bar of many symbols there may be a holiday, which would be a stretch of each of them.
          if (day < firstOpen && spans.length >= MANY_SYMBOLS) continue;
          stretch ??= { first: day, last: day };
          stretch.last = day;
        }
      }
      endStretch();
      for (const reason of ["not_yet", "no_bar", "no_session"] as const)
        if (counts[reason] > 0) quiet.push({ symbol, reason, sessions: counts[reason] });
    }
  }
  return { quiet, empty };
}

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
