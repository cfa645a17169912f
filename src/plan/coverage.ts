import { subtractRanges, type TimeRange, type TradingDate } from "../core/time.js";
import type { TradingCalendar } from "../market/trading-calendar.js";
import { dateAt, daysOverlapped } from "../market/trading-days.js";

/** Trading days that were never requested for symbols that were requested for other days. */
export interface CoverageGap {
  readonly first: TradingDate;
  readonly last: TradingDate;
  /** Number of trading days from the first to the last. */
  readonly days: number;
  /** Number of symbols that lack exactly these days. */
  readonly symbols: number;
  /** Some of these symbols, as examples. */
  readonly examples: readonly string[];
  /** Position of the gap in the time range of the symbol. */
  readonly place: "start" | "middle" | "end";
}

/** How much of the possible time is covered by responses. */
export interface Coverage {
  readonly symbols: number;
  readonly first: TradingDate | undefined;
  readonly last: TradingDate | undefined;
  /** Days of symbols: the trading days of each symbol since the first day that was requested of it, or since its listing. */
  readonly expected: number;
  /** How many of these days have a response, even an empty one. */
  readonly answered: number;
  /** The largest gaps first. */
  readonly gaps: readonly CoverageGap[];
}

/** The facts from which coverage is computed. */
export interface CoverageFacts {
  readonly calendar: TradingCalendar;
  readonly symbols: readonly string[];
  /** The range from the first requested time to the end of the final bars. */
  readonly range: TimeRange;
  /** The first requested time of each symbol, in epoch milliseconds. @default the start of the range */
  readonly since?: ReadonlyMap<string, number>;
  readonly covered: ReadonlyMap<string, readonly TimeRange[]>;
  readonly listedAt: ReadonlyMap<string, number>;
  /** When symbols were seen to be delisted, in epoch milliseconds. After that they lack nothing. @default none */
  readonly delistedAt?: ReadonlyMap<string, number>;
  /** Epoch milliseconds. */
  readonly now: number;
}

const EXAMPLES = 3;

/** Compares the covered windows with the trading calendar. Equal gaps of several symbols are reported as one. */
export function measureCoverage(facts: CoverageFacts): Coverage {
  const days = facts.calendar.daysIn(facts.range, facts.now);
  const groups = new Map<string, { first: number; end: number; begin: number; symbols: string[] }>();
  let [expected, missing] = [0, 0];
  for (const symbol of facts.symbols) {
    const { life, unanswered } = symbolSpans(symbol, facts);
    const { first: begin, end: finish } = daysOverlapped(days, life);
    expected += finish - begin;
    for (const gap of unanswered) {
      const { first, end } = daysOverlapped(days, gap);
      if (end <= first) continue;
      missing += end - first;
      const key = `${first}-${end}-${begin === first}`;
      const group = groups.get(key) ?? { first, end, begin, symbols: [] };
      groups.set(key, group);
      group.symbols.push(symbol);
    }
  }
  const gaps = [...groups.values()].map(({ first, end, begin, symbols }): CoverageGap => {
    const inside = end === days.length ? "end" : "middle";
    return {
      first: dateAt(days, first) as TradingDate,
      last: dateAt(days, end - 1) as TradingDate,
      days: end - first,
      symbols: symbols.length,
      examples: symbols.slice(0, EXAMPLES),
      place: first === begin ? "start" : inside,
    };
  });
  return {
    symbols: facts.symbols.length,
    first: dateAt(days, 0),
    last: dateAt(days, -1),
    expected,
    answered: expected - missing,
    gaps: gaps.sort((a, b) => b.days * b.symbols - a.days * a.symbols),
  };
}

/** The time in which a symbol should have bars, and the parts of it that have no response. */
export function symbolSpans(
  symbol: string,
  { range, since, covered, listedAt, delistedAt }: CoverageFacts,
): { readonly life: TimeRange; readonly unanswered: readonly TimeRange[] } {
  const start = Math.max(range.start, since?.get(symbol) ?? range.start, listedAt.get(symbol) ?? range.start);
  const life = { start, end: Math.max(start, Math.min(range.end, delistedAt?.get(symbol) ?? range.end)) };
  return { life, unanswered: subtractRanges(life, covered.get(symbol) ?? []) };
}
