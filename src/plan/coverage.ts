import { compareText } from "../core/text-order.js";
import { dateOfEpochDay, subtractRanges, type TimeRange, type TradingDate } from "../core/time.js";
import {
  dateAt,
  daysOverlapped,
  type TradingCalendar,
  type TradingDays,
} from "../market/trading-calendar.js";

/** Trading days that were never requested for symbols that were requested for other days. */
interface CoverageGap {
  readonly first: TradingDate;
  readonly last: TradingDate;
  /** Number of trading days from the first to the last. */
  readonly days: number;
  readonly symbols: number;
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
function symbolSpans(
  symbol: string,
  { range, since, covered, listedAt, delistedAt }: CoverageFacts,
): { readonly life: TimeRange; readonly unanswered: readonly TimeRange[] } {
  const start = Math.max(range.start, since?.get(symbol) ?? range.start, listedAt.get(symbol) ?? range.start);
  const life = { start, end: Math.max(start, Math.min(range.end, delistedAt?.get(symbol) ?? range.end)) };
  return { life, unanswered: subtractRanges(life, covered.get(symbol) ?? []) };
}

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

/** Consecutive sessions of one symbol without a response. */
export interface MissingStretch {
  readonly first: TradingDate;
  readonly last: TradingDate;
  readonly days: number;
  /** Whether these sessions were requested; false if they never were. */
  readonly isOpen: boolean;
}

/** A symbol's days without a response in one month. `isOpen`: all of them were requested. */
export interface MissingDays extends MissingStretch {
  readonly symbol: string;
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

function within(days: TradingDays, range: TimeRange, month: string): number[] {
  const { first, end } = daysOverlapped(days, range);
  const found: number[] = [];
  for (let at = first; at < end; at++) if (dateAt(days, at)?.startsWith(month)) found.push(at);
  return found;
}
