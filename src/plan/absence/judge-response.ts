import { int64Words } from "../../core/bits.js";
import { subtractRanges, type TimeRange } from "../../core/time.js";
import type { LandedPeriod } from "../../market/period.js";
import {
  dayAt,
  daysOverlapped,
  firstDayAfter,
  NO_DAYS,
  type TradingCalendar,
  type TradingDays,
} from "../../market/trading-calendar.js";
import type { DecodedKlines } from "../../wire/decode/decode-klines.js";
import { MANY_SYMBOLS } from "./absence.js";
import { type AbsenceVerdict, judgeAbsence } from "./absent-symbols.js";
import { coveredTime, judgeBeginnings, type Page, type SymbolWindow, type Verdict } from "./older-bars.js";
import { symbolsOfOtherPeriod } from "./other-period.js";
import type { RowCap } from "./row-cap.js";
import { beginningOf, daysWithBars, type SymbolSpan, symbolSpans } from "./window-beginning.js";

/** A part of a window, and the number of bars in it that were set aside. */
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

/** The facts with which a response is judged. */
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

/** Sessions of a symbol in which it has no bar. */
interface QuietSessions {
  readonly symbol: string;
  /** `not_yet`: before its first bar; `no_bar`: after it; `no_session`: no symbol of the response has one. */
  readonly reason: "not_yet" | "no_bar" | "no_session";
  readonly sessions: number;
}

/** Everything that a response shows. */
export interface ResponseVerdict extends Verdict {
  /** Symbols with bars. */
  readonly present: readonly string[];
  /** Symbols whose bars have another period than the requested one: none of them may land. */
  readonly mislabelled: ReadonlySet<string>;
  readonly absence: AbsenceVerdict;
  readonly lost: readonly LostBars[];
  readonly quiet: readonly QuietSessions[];
  /** Of daily bars: the stretches of settled sessions without a bar of a symbol that has some in the response. */
  readonly empty: readonly SymbolWindow[];
  /** Number of requested sessions, by symbol. */
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
