import {
  type Clock,
  DAY_MS,
  parseTradingDate,
  subtractRanges,
  type TimeRange,
  unionRanges,
} from "../../../core/time.js";
import type { LandedPeriod } from "../../../market/period.js";
import { byRegion, REGIONS, type Region } from "../../../market/regions.js";
import { addDays, finalEnd } from "../../../market/sessions.js";
import type { TradingCalendar } from "../../../market/trading-calendar.js";
import { instantOf, localDate } from "../../../market/zone.js";
import { ASSUMED_CAP, type RowCap } from "../../../plan/absence/row-cap.js";
import { expectedBars, planRequestUnits, type RequestUnit } from "../../../plan/request-units.js";
import { BARS_1D, BARS_1M } from "../../../schema/bars.js";
import type { TableSchema } from "../../../schema/column.js";
import { emptyWindows } from "../../ledger/ledger-holes.js";
import { coveredWindows, type LedgerWindows, readLedgerWindows } from "../../ledger/ledger-windows.js";
import type { RunContext } from "../../run/run-context.js";
import { regionCalendars } from "./region-calendars.js";
import { type ListedSymbol, readLives } from "./symbol-lives.js";

/** A window is not checked again within this time after its request, in milliseconds. */
const RECHECK_AFTER_MS = 12 * 3_600_000;

/** The bars that are requested. */
export interface BarsDemand {
  readonly period: LandedPeriod;
  /** First date (in each exchange's zone), or a number of days before today, as in `-365d`. */
  readonly from: string;
  /** The date after the last requested date. @default everything up to now */
  readonly to?: string | undefined;
  /**
   * Number of last trading days that are requested again although they are covered, to find corrections. The newest
   * session counts as one. @default 0
   */
  readonly lookbackDays?: number | undefined;
  readonly symbols: ReadonlyMap<Region, readonly string[]>;
  /** From when each symbol is requested, in epoch milliseconds. @default from the first date */
  readonly since?: ReadonlyMap<string, number> | undefined;
  /** Whether symbols are requested only up to the time at which they were seen to be delisted. @default false */
  readonly endsAtDelisting?: boolean;
  /** From when symbols are no longer requested, because they left the chosen universes; epoch milliseconds. */
  readonly leavingAt?: ReadonlyMap<string, number> | undefined;
  /** Whether empty windows without a certain explanation are requested even before they are due. @default false */
  readonly allHoles?: boolean | undefined;
}

/** The inputs of a plan in addition to the demand: what the lake has, and what responses have shown. */
export interface PlanFacts {
  readonly now: number;
  /** The windows of the demand's table in the ledger. */
  readonly asked: LedgerWindows;
  readonly calendars: ReadonlyMap<Region, TradingCalendar>;
  /** When symbols began to trade, where that is known; epoch milliseconds. */
  readonly listedAt: ReadonlyMap<string, number>;
  /** When symbols were seen to be delisted: the end of that day; epoch milliseconds. */
  readonly delistedAt: ReadonlyMap<string, number>;
  /** Windows with a response of final bars, by symbol. The map grows during a run. */
  readonly covered: Map<string, TimeRange[]>;
  /** Windows that an earlier run requested, and in which nothing came, by symbol. */
  readonly empty: ReadonlyMap<string, readonly TimeRange[]>;
}

/** The table that a period's bars land in. */
export function barsTable(period: LandedPeriod): TableSchema {
  return period === "1d" ? BARS_1D : BARS_1M;
}

/**
 * Reads the facts of a plan.
 *
 * @param starts the start of the requested time by region, in epoch milliseconds. @default that of the demand
 */
export async function readPlanFacts(
  context: Pick<RunContext, "session" | "lake"> & { readonly clock: Pick<Clock, "now"> },
  demand: Pick<
    BarsDemand,
    "period" | "symbols" | "lookbackDays" | "allHoles" | "since" | "endsAtDelisting" | "leavingAt"
  > &
    Partial<Pick<BarsDemand, "from">>,
  starts: ReadonlyMap<Region, number> = rangeStarts(demand, context.clock.now()),
): Promise<PlanFacts> {
  const { session, lake, clock } = context;
  const now = clock.now();
  const { lookbackDays } = demand;
  const asked = await readLedgerWindows(session, lake, barsTable(demand.period).name, {
    now,
    recentSince: lookbackDays ? now - RECHECK_AFTER_MS : undefined,
  });
  const calendars = await regionCalendars(session, lake, now, demand.period === "1d" ? asked : undefined);
  const covered = coveredWindows(asked, {
    now,
    recheckSince: lookbackDays ? recheckSince(lookbackDays, calendars, now) : undefined,
    openHoles: demand.allHoles ? "all" : "due",
  });
  const requested = new Set([...demand.symbols.values()].flat());
  const { listedAt, delistedAt } = await readLives(
    context,
    (listed) => requested.has(listed.symbol) && isInDoubt(listed, starts, covered),
  );
  coverUnwanted(covered, demand, delistedAt);
  return { now, asked, calendars, covered, empty: emptyWindows(asked.holes), listedAt, delistedAt };
}

/** Adds the time in which a demand does not request symbols: before it begins, and after they left. */
export function coverUnwanted(
  covered: Map<string, TimeRange[]>,
  demand: Pick<BarsDemand, "since" | "endsAtDelisting" | "leavingAt">,
  delistedAt: PlanFacts["delistedAt"],
): void {
  for (const [symbol, end] of demand.since ?? [])
    covered.set(
      symbol,
      unionRanges([...(covered.get(symbol) ?? []), { start: Number.MIN_SAFE_INTEGER, end }]),
    );
  for (const ends of [demand.endsAtDelisting ? delistedAt : undefined, demand.leavingAt])
    for (const [symbol, start] of ends ?? []) {
      const never = { start, end: Number.MAX_SAFE_INTEGER };
      covered.set(symbol, unionRanges([...(covered.get(symbol) ?? []), never]));
    }
}

/** The requests that a demand needs, ordered by their windows. */
export function planBarRequests(
  demand: BarsDemand,
  facts: PlanFacts,
  { rowCap, symbolsPerRequest }: { readonly rowCap: number; readonly symbolsPerRequest: number },
): RequestUnit[] {
  const { period } = demand;
  const units = [...demand.symbols].flatMap(([region, symbols]) =>
    planRequestUnits({
      ...facts,
      period,
      symbols,
      rowCap,
      symbolsPerRequest,
      calendar: facts.calendars.get(region) as TradingCalendar,
      range: rangeOf(region, demand, facts.now),
    }),
  );
  return units.sort((a, b) => a.window.start - b.window.start);
}

/** Most bars of a symbol that the plan expects in one response: the measured cap, or the assumed one. */
export function plannedCap(period: LandedPeriod, cap: RowCap): number {
  return cap.known ?? ASSUMED_CAP[period];
}

/** Upper bound of the bars in the responses to planned requests; those for factors bring none. */
export function expectedRows(
  planned: readonly (RequestUnit & { readonly dataset: string })[],
  period: LandedPeriod,
): number {
  const ofBars = planned.filter(({ dataset }) => dataset === barsTable(period).name);
  return ofBars.reduce((sum, unit) => sum + expectedBars(unit, period), 0);
}

/**
 * The requested time in a region: from the first date to the end of today (or of the day before `to`), by the region's
 * own calendar.
 */
export function rangeOf(region: Region, { from, to }: BarsDemand, now: number): TimeRange {
  const { zone } = REGIONS[region];
  const today = localDate(now, zone);
  const first = from.startsWith("-") ? addDays(today, Number.parseInt(from, 10)) : parseTradingDate(from);
  const end = instantOf(addDays(today, 1), zone);
  return {
    start: instantOf(first, zone),
    end: to === undefined ? end : Math.min(end, instantOf(parseTradingDate(to), zone)),
  };
}

/** The start of the requested time, by region. */
function rangeStarts(
  { period, symbols, from }: Pick<BarsDemand, "period" | "symbols"> & Partial<Pick<BarsDemand, "from">>,
  now: number,
): ReadonlyMap<Region, number> {
  if (from === undefined) return new Map();
  const demand = { period, symbols, from };
  return new Map([...symbols.keys()].map((region) => [region, rangeOf(region, demand, now).start]));
}

/**
 * Whether a listing date keeps the plan from requesting time, if it is wrong: not all of the requested time before it has
 * a response.
 */
function isInDoubt(
  { symbol, region, listedAt }: ListedSymbol,
  starts: ReadonlyMap<Region, number>,
  covered: PlanFacts["covered"],
): boolean {
  const before = { start: starts.get(region) ?? Number.POSITIVE_INFINITY, end: listedAt };
  return before.start < before.end && subtractRanges(before, covered.get(symbol) ?? []).length > 0;
}

/**
 * A time before the last `lookbackDays` trading days, however long the weekends and holidays among them are (epoch ms).
 */
export function lookbackStart(now: number, lookbackDays = 0): number {
  return Math.floor(now - (20 + 2.5 * lookbackDays) * DAY_MS);
}

/** Start of the last `lookbackDays` trading days, by each region's own calendar (epoch ms). */
export function recheckSince(
  lookbackDays: number,
  calendars: PlanFacts["calendars"],
  now: number,
): Record<Region, number> {
  const sinceOf = (region: Region): number => {
    const { zone } = REGIONS[region];
    const end = finalEnd(region, now);
    // Two of any five days are trading days, except for holidays, which close a region for at most twenty days in a
    // row.
    const start = instantOf(addDays(localDate(end - 1, zone), -20 - Math.ceil(2.5 * lookbackDays)), zone);
    return calendars.get(region)?.daysIn({ start, end }, now).starts.at(-lookbackDays) ?? start;
  };
  return byRegion(sinceOf);
}
