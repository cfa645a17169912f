import { dayRange, SESSION_HOURS, sessionDates } from "../calendar/sessions.js";
import type { Region } from "../core/exchange.js";
import type { LandedPeriod } from "../core/period.js";
import { subtractRanges, type TimeRange } from "../core/time.js";
import { LIMITS } from "../wire/endpoints.js";

/**
 * Bars of one symbol from which an answer counts as possibly cut: the documented cap is 10,000, but a service was
 * measured to stop at 5,000. Windows are sized to stay below.
 */
export const SUSPECT_ROWS = 5000;

/** One request for K-lines: at most 100 symbols of one region, one window. */
export interface RequestUnit {
  readonly region: Region;
  readonly symbols: readonly string[];
  readonly window: TimeRange;
  /** Weekdays of the window: an upper bound of its trading days. */
  readonly days: number;
}

/** What a plan of K-line requests is made from. */
export interface KlineDemand {
  readonly period: LandedPeriod;
  readonly symbols: ReadonlyMap<Region, readonly string[]>;
  readonly range: TimeRange;
  /** Windows that were already answered with final bars, by symbol. */
  readonly covered: ReadonlyMap<string, readonly TimeRange[]>;
  /** Epoch milliseconds. */
  readonly now: number;
  /** @default 100 */
  readonly symbolsPerRequest?: number;
}

/**
 * Plans the requests that fill what is not covered yet: windows as long as the row cap allows, each request full of
 * symbols. Ordered by window, so that a partition's bars arrive together.
 */
export function planRequestUnits(demand: KlineDemand): RequestUnit[] {
  const units: RequestUnit[] = [];
  for (const [region, symbols] of demand.symbols) {
    for (const { gaps, members } of groupByGaps(symbols, demand)) {
      for (const gap of gaps) {
        for (const { window, days } of windowsOf(region, gap, demand)) {
          units.push(
            ...inBatches(members, demand.symbolsPerRequest ?? LIMITS.symbolsPerRequest).map((batch) => ({
              region,
              symbols: batch,
              window,
              days,
            })),
          );
        }
      }
    }
  }
  return units.sort((a, b) => a.window.start - b.window.start || compare(a.region, b.region));
}

/** Upper bound of the bars that a unit can be answered with. */
export function expectedBars(unit: RequestUnit, period: LandedPeriod): number {
  return unit.symbols.length * unit.days * barsPerDay(unit.region, period);
}

/** Cuts a list into batches of at most `size`. */
export function inBatches<T>(items: readonly T[], size: number): T[][] {
  const batches: T[][] = [];
  for (let start = 0; start < items.length; start += size) batches.push(items.slice(start, start + size));
  return batches;
}

/** Symbols that lack the same ranges can share requests. */
function groupByGaps(
  symbols: readonly string[],
  { covered, range }: KlineDemand,
): { gaps: readonly TimeRange[]; members: string[] }[] {
  const groups = new Map<string, { gaps: readonly TimeRange[]; members: string[] }>();
  for (const symbol of [...symbols].sort()) {
    const gaps = subtractRanges(range, covered.get(symbol) ?? []);
    const key = gaps.map((gap) => `${gap.start}-${gap.end}`).join();
    const group = groups.get(key);
    if (group) group.members.push(symbol);
    else groups.set(key, { gaps, members: [symbol] });
  }
  return [...groups.values()];
}

/** Cuts a gap into windows that stay below the row cap; a gap in which no session began needs none. */
function windowsOf(
  region: Region,
  gap: TimeRange,
  { period, now }: KlineDemand,
): { window: TimeRange; days: number }[] {
  const dates = sessionDates(region, gap, now);
  const daysPerWindow = Math.max(1, Math.floor((SUSPECT_ROWS - 1) / barsPerDay(region, period)));
  return inBatches(dates, daysPerWindow).map((batch, index, batches) => {
    const next = batches[index + 1]?.[0];
    const start = index === 0 ? gap.start : dayRange(region, batch[0] as (typeof batch)[number]).start;
    const end = next === undefined ? gap.end : dayRange(region, next).start;
    return { window: { start, end }, days: batch.length };
  });
}

function barsPerDay(region: Region, period: LandedPeriod): number {
  return period === "1d" ? 1 : SESSION_HOURS[region].barsPerDay;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
