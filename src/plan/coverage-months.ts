import { compareText } from "../core/text-order.js";
import { dateOfEpochDay, subtractRanges, type TimeRange, type TradingDate } from "../core/time.js";
import { dateAt, daysOverlapped, type TradingDays } from "../market/trading-days.js";
import { type CoverageFacts, symbolSpans } from "./coverage.js";

/** The facts of the coverage of months. */
export interface MonthFacts extends CoverageFacts {
  /** Requested windows that are still open: nothing explains why they have no bar. By symbol. @default none */
  readonly open?: ReadonlyMap<string, readonly TimeRange[]>;
}

/** The coverage of one month, in days of symbols. `expected` is the sum of the other three numbers. */
export interface MonthCoverage {
  /** `YYYY-MM`. */
  readonly month: string;
  /** Number of sessions of the month that have begun. */
  readonly sessions: number;
  readonly expected: number;
  readonly answered: number;
  /** Days that were requested, have no bar, and no explanation. */
  readonly open: number;
  /** Days that were never requested. */
  readonly gap: number;
}

/** A symbol's days without a response in one month. */
export interface MissingDays {
  readonly symbol: string;
  readonly first: TradingDate;
  readonly last: TradingDate;
  readonly days: number;
  /** Whether all of these days were requested. */
  readonly isOpen: boolean;
}

/** Consecutive sessions of one symbol without a response. */
export interface MissingStretch {
  readonly first: TradingDate;
  readonly last: TradingDate;
  readonly days: number;
  /** Whether these sessions were requested; false if they never were. */
  readonly isOpen: boolean;
}

/** The coverage of each month from the first requested one, in the order of time. */
export function coverageByMonth(facts: MonthFacts): MonthCoverage[] {
  const days = facts.calendar.daysIn(facts.range, facts.now);
  const [expected, missing, never] = [new Steps(days.length), new Steps(days.length), new Steps(days.length)];
  for (const symbol of facts.symbols) {
    const { life, unanswered } = symbolSpans(symbol, facts);
    expected.add(daysOverlapped(days, life));
    for (const range of unanswered) missing.add(daysOverlapped(days, range));
    for (const range of neverAsked(symbol, unanswered, facts)) never.add(daysOverlapped(days, range));
  }
  const months = new Map<string, { sessions: number; expected: number; missing: number; gap: number }>();
  for (let day = 0; day < days.length; day++) {
    const name = dateOfEpochDay(days.epochDays[day] as number).slice(0, 7);
    const month = months.get(name) ?? { sessions: 0, expected: 0, missing: 0, gap: 0 };
    month.sessions += 1;
    month.expected += expected.next();
    month.missing += missing.next();
    month.gap += never.next();
    months.set(name, month);
  }
  return [...months].map(([month, { sessions, expected: all, missing: lacking, gap }]) => {
    return { month, sessions, expected: all, answered: all - lacking, open: lacking - gap, gap };
  });
}

/** The symbols that lack days in a month (`YYYY-MM`), those that lack the most first. */
export function missingIn(facts: MonthFacts, month: string): MissingDays[] {
  const days = facts.calendar.daysIn(facts.range, facts.now);
  const found: MissingDays[] = [];
  for (const symbol of facts.symbols) {
    const { unanswered } = symbolSpans(symbol, facts);
    const positions = unanswered.flatMap((range) => within(days, range, month));
    const [first, last] = [positions.at(0), positions.at(-1)];
    if (first === undefined || last === undefined) continue;
    const gaps = neverAsked(symbol, unanswered, facts).flatMap((range) => within(days, range, month));
    found.push({
      symbol,
      first: dateAt(days, first) as TradingDate,
      last: dateAt(days, last) as TradingDate,
      days: positions.length,
      isOpen: gaps.length === 0,
    });
  }
  return found.sort((a, b) => b.days - a.days || compareText(a.symbol, b.symbol));
}

/**
 * The stretches of sessions that each symbol lacks, whether they were requested or not. Symbols that lack none are left
 * out.
 */
export function missingStretches(
  facts: MonthFacts,
): readonly { readonly symbol: string; readonly stretches: readonly MissingStretch[] }[] {
  const days = facts.calendar.daysIn(facts.range, facts.now);
  const stretchesIn = (ranges: readonly TimeRange[], isOpen: boolean): MissingStretch[] =>
    ranges.flatMap((range) => {
      const { first, end } = daysOverlapped(days, range);
      if (end <= first) return [];
      const [begin, last] = [dateAt(days, first) as TradingDate, dateAt(days, end - 1) as TradingDate];
      return [{ first: begin, last, days: end - first, isOpen }];
    });
  return facts.symbols.flatMap((symbol) => {
    const { unanswered } = symbolSpans(symbol, facts);
    const never = neverAsked(symbol, unanswered, facts);
    const open = unanswered.flatMap((range) => subtractRanges(range, never));
    const stretches = [...stretchesIn(never, false), ...stretchesIn(open, true)];
    return stretches.length === 0 ? [] : [{ symbol, stretches }];
  });
}

/**
 * Counts for each day how many ranges contain it. Only the ends of ranges are stored, so adding a range takes the same
 * time for any length.
 */
class Steps {
  readonly #steps: Int32Array;
  #at = 0;
  #sum = 0;

  constructor(days: number) {
    this.#steps = new Int32Array(days + 1);
  }

  add({ first, end }: { readonly first: number; readonly end: number }): void {
    if (end <= first) return;
    this.#steps[first] = (this.#steps[first] as number) + 1;
    this.#steps[end] = (this.#steps[end] as number) - 1;
  }

  /** The number of ranges that contain the next day. */
  next(): number {
    this.#sum += this.#steps[this.#at++] as number;
    return this.#sum;
  }
}

function neverAsked(
  symbol: string,
  unanswered: readonly TimeRange[],
  { open }: MonthFacts,
): readonly TimeRange[] {
  const own = open?.get(symbol);
  return own === undefined ? unanswered : unanswered.flatMap((range) => subtractRanges(range, own));
}

/** Positions of the days of a month that a range overlaps. */
function within(days: TradingDays, range: TimeRange, month: string): number[] {
  const { first, end } = daysOverlapped(days, range);
  const found: number[] = [];
  for (let at = first; at < end; at++) if (dateAt(days, at)?.startsWith(month)) found.push(at);
  return found;
}
