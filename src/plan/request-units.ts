import { compareText } from "../core/text-order.js";
import { subtractRanges, type TimeRange } from "../core/time.js";
import type { LandedPeriod } from "../market/period.js";
import type { Region } from "../market/regions.js";
import { SESSION_HOURS } from "../market/sessions.js";
import { daysOverlapped, type TradingCalendar, type TradingDays } from "../market/trading-calendar.js";
import { LIMITS } from "../wire/endpoints.js";

/** One request for K-lines: symbols of one region, and one window. */
export interface RequestUnit {
  readonly region: Region;
  readonly symbols: readonly string[];
  readonly window: TimeRange;
  /** Number of trading days in the window. */
  readonly days: number;
}

interface KlineDemand {
  readonly period: LandedPeriod;
  readonly calendar: TradingCalendar;
  readonly symbols: readonly string[];
  readonly range: TimeRange;
  /** Windows that already have a response of final bars, by symbol. */
  readonly covered: ReadonlyMap<string, readonly TimeRange[]>;
  /**
   * Windows in which nothing came when they were last requested, by symbol. Those that are not covered are requested as
   * they are, however long they are: a cap does not cut a response without bars. @default none
   */
  readonly empty?: ReadonlyMap<string, readonly TimeRange[]>;
  /** When symbols began to trade, where that is known; epoch milliseconds. */
  readonly listedAt?: ReadonlyMap<string, number>;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Most bars of one symbol that the service returns in a response. */
  readonly rowCap: number;
  /** @default 100 */
  readonly symbolsPerRequest?: number;
}

/**
 * Plans the fewest requests for the time that is not covered yet. A window has as many trading days as fit below the
 * row cap, and a request is filled with symbols that lack days in the same window. The requests are ordered by window,
 * so that a partition's bars arrive together.
 *
 * A symbol's windows do not overlap. A free place in a request can go to a symbol that begins to lack days later. This
 * can save a window of that symbol, but it can also shift its windows relative to those of other symbols, so all ways
 * are tried. Where all symbols lack days of one window, as after a day, none begins later.
 */
export function planRequestUnits(demand: KlineDemand): RequestUnit[] {
  const days = demand.calendar.daysIn(demand.range, demand.now);
  const { units: repeated, covered } = repeatedUnits(demand, days);
  const wanting = wantingOf({ ...demand, covered }, days);
  const fillings = isOneWindow(wanting, daysPerWindow(demand)) ? FILLINGS.slice(0, 1) : FILLINGS;
  const plans = fillings.map((filling) => unitsOf(demand, days, wanting, filling));
  const fewest = plans.reduce((best, plan) => (plan.length < best.length ? plan : best));
  return repeated.length === 0
    ? fewest
    : [...repeated, ...fewest].sort((a, b) => a.window.start - b.window.start);
}

/**
 * The requests for empty windows that are longer than those of the plan; shorter ones are planned with everything else.
 *
 * @returns the requests, and the windows that need no other request.
 */
function repeatedUnits(
  demand: KlineDemand,
  days: TradingDays,
): { readonly units: readonly RequestUnit[]; readonly covered: KlineDemand["covered"] } {
  const { calendar, range, covered, empty, listedAt } = demand;
  if (empty === undefined || empty.size === 0) return { units: [], covered };
  const { region } = calendar;
  const length = daysPerWindow(demand);
  const groups = new Map<string, RequestUnit & { readonly symbols: string[] }>();
  const after = new Map(covered);
  for (const symbol of [...new Set(demand.symbols)].sort(compareText)) {
    const since = Math.max(range.start, listedAt?.get(symbol) ?? range.start);
    for (const { start, end } of empty.get(symbol) ?? []) {
      const wanted = { start: Math.max(since, start), end: Math.min(range.end, end) };
      for (const window of subtractRanges(wanted, covered.get(symbol) ?? [])) {
        const within = daysOverlapped(days, window);
        if (within.end - within.first <= length) continue;
        const key = `${window.start} ${window.end}`;
        const group = groups.get(key) ?? { region, symbols: [], window, days: within.end - within.first };
        group.symbols.push(symbol);
        groups.set(key, group);
        after.set(symbol, [...(after.get(symbol) ?? []), window]);
      }
    }
  }
  const size = demand.symbolsPerRequest ?? LIMITS.symbolsPerRequest;
  const units = [...groups.values()].flatMap((group) =>
    inBatches(group.symbols, size).map((symbols): RequestUnit => ({ ...group, symbols })),
  );
  return { units, covered: after };
}

/** Which symbols get the free places of a request: those that thereby need one window less, all candidates, or none. */
const FILLINGS = ["spared", "all", "none"] as const;
type Filling = (typeof FILLINGS)[number];

/** Whether symbols begin to lack days on the same day, and none lacks a day after the window that begins on it. */
function isOneWindow(wanting: readonly Wanting[], length: number): boolean {
  const first = wanting[0]?.lacks[0]?.firstDay ?? 0;
  return wanting.every(
    ({ lacks }) => lacks[0]?.firstDay === first && (lacks.at(-1) as Lack).endDay <= first + length,
  );
}

function unitsOf(
  demand: KlineDemand,
  days: TradingDays,
  wanting: readonly Wanting[],
  filling: Filling,
): RequestUnit[] {
  const { calendar } = demand;
  const length = daysPerWindow(demand);
  const size = demand.symbolsPerRequest ?? LIMITS.symbolsPerRequest;
  const waiting = Array.from({ length: days.length }, (): Wanting[] => []);
  for (const one of wanting) queue(waiting, one);
  const units: RequestUnit[] = [];
  for (let first = 0; first < days.length; first++) {
    const end = Math.min(days.length, first + length);
    const begin = (waiting[first] as Wanting[]).sort(inOrder);
    for (const some of inBatches(begin, size)) {
      const free = some.some(({ isWidened }) => isWidened) ? 0 : size - some.length;
      const members = [...some, ...takeFillers(waiting, { days, first, end, length }, free, filling)];
      units.push(unitOf(calendar.region, members, days, end));
      for (const member of members) queue(waiting, without(member, days, end));
    }
  }
  return units;
}

/** Upper bound of the bars in the response to a request for some trading days. */
export function expectedBars(
  { region, symbols, days }: Pick<RequestUnit, "region" | "symbols" | "days">,
  period: LandedPeriod,
): number {
  return symbols.length * Math.min(LIMITS.maxCount, days * barsPerDay(region, period));
}

/**
 * The number of trading days in the longest window whose bars are below the row cap. A response with as many bars as
 * the cap may be cut.
 */
export function daysPerWindow({
  calendar,
  period,
  rowCap,
}: Pick<KlineDemand, "calendar" | "period" | "rowCap">): number {
  return Math.max(1, Math.floor((rowCap - 1) / barsPerDay(calendar.region, period)));
}

/** Cuts a list into batches of at most `size`. */
export function inBatches<T>(items: readonly T[], size: number): T[][] {
  const batches: T[][] = [];
  for (let start = 0; start < items.length; start += size) batches.push(items.slice(start, start + size));
  return batches;
}

/** Days that a symbol lacks, as indexes, and the time range of these days. */
interface Lack extends TimeRange {
  readonly firstDay: number;
  readonly endDay: number;
}

interface Wanting {
  readonly symbol: string;
  /** The days that it lacks, ascending. */
  readonly lacks: readonly Lack[];
  /** Index of the day before which the plan already requests the symbol. */
  readonly askedUntil: number;
  /** Whether it is requested since before it was listed. Others in its request would be sent all those days, too. */
  readonly isWidened: boolean;
}

/**
 * The symbols that lack days, in order. A symbol is requested since it was listed. A listing date can be wrong, and then no
 * later request would find the bars before it. So the request for the listing date is about the time before it, too, if one
 * window contains the whole range.
 */
function wantingOf(demand: KlineDemand, days: TradingDays): Wanting[] {
  const { symbols, range, covered } = demand;
  const isOneRequest = days.length <= daysPerWindow(demand);
  const sorted = [...new Set(symbols)].sort(compareText);
  const lacksOf = (start: number, windows: readonly TimeRange[]): Lack[] =>
    subtractRanges({ start, end: range.end }, windows).flatMap((gap): Lack[] => {
      const { first, end } = daysOverlapped(days, gap);
      return end > first ? [{ ...gap, firstDay: first, endDay: end }] : [];
    });
  // Most symbols share their windows with the one before.
  let [lastStart, last, lacks]: [number, unknown, readonly Lack[]] = [Number.NaN, undefined, []];
  return sorted.flatMap((symbol): Wanting[] => {
    const listed = Math.max(range.start, demand.listedAt?.get(symbol) ?? range.start);
    const isWidened = isOneRequest && listed > range.start && isOpen(listed, symbol, demand);
    const start = isWidened ? range.start : listed;
    const windows = covered.get(symbol);
    if (start !== lastStart || windows !== last)
      [lastStart, last, lacks] = [start, windows, lacksOf(start, windows ?? [])];
    return lacks.length > 0 ? [{ symbol, lacks, askedUntil: 0, isWidened }] : [];
  });
}

/** Whether an instant is requested: it is in the range, and has no response yet. */
function isOpen(instant: number, symbol: string, { range, covered }: KlineDemand): boolean {
  const isCovered = covered.get(symbol)?.some(({ start, end }) => start <= instant && instant < end) ?? false;
  return instant < range.end && !isCovered;
}

/** Compares symbols so that those that lack the same days are next to each other. */
function inOrder(a: Wanting, b: Wanting): number {
  const lastDay = ({ lacks }: Wanting): number => lacks[0]?.endDay ?? 0;
  return lastDay(a) - lastDay(b) || compareText(a.symbol, b.symbol);
}

function queue(waiting: readonly Wanting[][], wanting: Wanting): void {
  const [lack] = wanting.lacks;
  if (lack !== undefined) waiting[lack.firstDay]?.push(wanting);
}

/** Takes up to `free` symbols whose missing days begin within a window. */
function takeFillers(
  waiting: Wanting[][],
  window: {
    readonly days: TradingDays;
    readonly first: number;
    readonly end: number;
    readonly length: number;
  },
  free: number,
  filling: Filling,
): Wanting[] {
  const taken: Wanting[] = [];
  if (filling === "none") return taken;
  for (let day = window.first + 1; day < window.end && taken.length < free; day++) {
    waiting[day] = (waiting[day] as Wanting[]).filter((wanting) => {
      if (taken.length === free) return true;
      const left = without(wanting, window.days, window.end);
      const isSpared = windowsNeeded(left, window.length) < windowsNeeded(wanting, window.length);
      const fits = wanting.askedUntil <= window.first && (isSpared || filling === "all");
      if (fits) taken.push(wanting);
      return !fits;
    });
  }
  return taken;
}

/** The fewest windows of a length that cover the missing days of a symbol. */
function windowsNeeded({ lacks }: Wanting, length: number): number {
  let windows = 0;
  let reached = 0;
  for (const { firstDay, endDay } of lacks) {
    const left = endDay - Math.max(firstDay, reached);
    if (left <= 0) continue;
    const more = Math.ceil(left / length);
    windows += more;
    reached = Math.max(firstDay, reached) + more * length;
  }
  return windows;
}

/** The days that a symbol still lacks after everything before a day was requested. */
function without({ symbol, lacks, isWidened }: Wanting, days: TradingDays, end: number): Wanting {
  const start = days.starts[end] ?? Number.POSITIVE_INFINITY;
  const left = lacks.filter((lack) => lack.endDay > end);
  return {
    symbol,
    lacks: left.map((lack) => (lack.firstDay < end ? { ...lack, firstDay: end, start } : lack)),
    askedUntil: end,
    isWidened,
  };
}

/**
 * The request for the days before the day `end` that its symbols lack. It begins and ends with time that at least one
 * symbol lacks.
 */
function unitOf(region: Region, members: readonly Wanting[], days: TradingDays, end: number): RequestUnit {
  const limit = days.starts[end] ?? Number.POSITIVE_INFINITY;
  const lacks = members.flatMap((member) => member.lacks.filter((lack) => lack.firstDay < end));
  const window = {
    start: Math.min(...lacks.map((lack) => lack.start)),
    end: Math.max(...lacks.map((lack) => Math.min(lack.end, limit))),
  };
  const { first, end: last } = daysOverlapped(days, window);
  return {
    region,
    symbols: members.map(({ symbol }) => symbol).sort(compareText),
    window,
    days: last - first,
  };
}

export function barsPerDay(region: Region, period: LandedPeriod): number {
  return period === "1d" ? 1 : SESSION_HOURS[region].barsPerDay;
}
