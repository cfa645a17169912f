import { compareText } from "../../../core/text-order.js";
import {
  type Clock,
  DAY_MS,
  parseTradingDate,
  subtractRanges,
  type TimeRange,
  type TradingDate,
  unionRanges,
} from "../../../core/time.js";
import { jsonParameter } from "../../../db/session/named-values.js";
import type { Session } from "../../../db/session/session.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import { selectFiles } from "../../../lake/files/prune.js";
import type { Lake } from "../../../lake/lake.js";
import { CALENDAR_SYMBOLS, FEWEST_SYMBOLS, readTradingDays } from "../../../lake/land/trading-days.js";
import type { LandedPeriod } from "../../../market/period.js";
import { byRegion, REGION_NAMES, REGIONS, type Region } from "../../../market/regions.js";
import { addDays, finalEnd } from "../../../market/sessions.js";
import { regionOf } from "../../../market/symbol.js";
import { TradingCalendar } from "../../../market/trading-calendar.js";
import { instantOf, localDate } from "../../../market/zone.js";
import { ASSUMED_CAP, type RowCap } from "../../../plan/absence/older-bars.js";
import { expectedBars, planRequestUnits, type RequestUnit } from "../../../plan/request-units.js";
import { EX_FACTORS } from "../../../schema/actions.js";
import { BARS_1D, BARS_1M } from "../../../schema/bars.js";
import type { TableSchema } from "../../../schema/column.js";
import { INSTRUMENTS } from "../../../schema/reference.js";
import {
  coveredWindows,
  emptyWindows,
  type LedgerWindows,
  readLedgerWindows,
} from "../../ledger/ledger-windows.js";
import type { RunContext } from "../../run/run-context.js";
import { endOfDay } from "../choose-symbols.js";

/**
 * The calendar of every region, as the lake knows it. A weekday without a bar counts as a holiday only where bars were
 * requested: of the region's index, or of at least half of the symbols that were requested before and after.
 *
 * @param now epoch milliseconds.
 * @param daily the windows of daily bars in the ledger. @default its newest version is read
 */
export async function regionCalendars(
  session: Session,
  lake: Lake,
  now: number,
  daily?: LedgerWindows,
): Promise<Map<Region, TradingCalendar>> {
  const known = await readTradingDays(session, lake);
  const asked = daily ?? (await readLedgerWindows(session, lake, [BARS_1D.name], { now })).get(BARS_1D.name);
  const covered = coveredWindows(asked as LedgerWindows, { now, openHoles: "all" });
  /** By region: the windows of its symbols, and how many symbols share them. */
  const windowsOf = new Map<Region, Map<readonly TimeRange[], number>>();
  for (const [symbol, windows] of covered) {
    const region = regionOf(symbol);
    if (region === undefined) continue;
    const own = windowsOf.get(region) ?? new Map<readonly TimeRange[], number>();
    windowsOf.set(region, own.set(windows, (own.get(windows) ?? 0) + 1));
  }
  return new Map(
    REGION_NAMES.map((region) => {
      const indexes = CALENDAR_SYMBOLS[region].flatMap((symbol) => [covered.get(symbol) ?? []]);
      const others = windowsOf.get(region) ?? new Map<readonly TimeRange[], number>();
      const isKnownClosed = (day: TimeRange): boolean =>
        indexes.some((windows) => holds(windows, day)) || mostHold(others, day);
      return [region, new TradingCalendar(region, known.get(region), isKnownClosed)];
    }),
  );
}

/**
 * Whether at least half of the symbols that were requested before and after a day were also requested on it.
 *
 * @param asked windows, ascending, and the number of symbols that were requested in them.
 */
function mostHold(asked: ReadonlyMap<readonly TimeRange[], number>, day: TimeRange): boolean {
  let [around, within] = [0, 0];
  for (const [windows, symbols] of asked) {
    const [first, last] = [windows[0], windows.at(-1)];
    if (first === undefined || last === undefined || first.start > day.start || last.end < day.end) continue;
    around += symbols;
    if (holds(windows, day)) within += symbols;
  }
  return around >= FEWEST_SYMBOLS && 2 * within >= around;
}

function holds(windows: readonly TimeRange[], day: TimeRange): boolean {
  return windows.some(({ start, end }) => start <= day.start && end >= day.end);
}

/** When symbols began to trade, and when they were seen to be delisted, where that is known; epoch milliseconds. */
interface SymbolLives {
  readonly listedAt: ReadonlyMap<string, number>;
  readonly delistedAt: ReadonlyMap<string, number>;
}

interface ListedSymbol {
  readonly symbol: string;
  readonly region: Region;
  readonly listingDate: TradingDate;
  /** The start of that date, in epoch milliseconds. */
  readonly listedAt: number;
}

type LakeParts = Pick<RunContext, "session" | "lake">;

/**
 * Reads from the snapshots of the instruments when symbols were listed, and when they left the lists of their
 * exchanges. Services give no delisting date, so the date is that of the first snapshot of the instruments without the
 * symbol. The symbol may still have traded on that day. A symbol that is listed again is not delisted.
 *
 * A listing date can be wrong. Where the lake has a daily bar of the symbol that is earlier, the listing date is not known.
 *
 * @param isDoubted whether a listing date keeps the plan from requesting time; no other date is compared with the lake.
 */
async function readLives(
  parts: LakeParts,
  isDoubted: (listed: ListedSymbol) => boolean,
): Promise<SymbolLives> {
  const { session, lake } = parts;
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(INSTRUMENTS)));
  const rows = await session.json<{ symbol: string; listed: string | null; left: number | null }>(
    `SELECT symbol, CAST(max(listing_date) FILTER (valid_to IS NULL) AS VARCHAR) AS listed,
       CASE WHEN bool_and(valid_to IS NOT NULL) THEN epoch_ms(max(valid_to))::DOUBLE END AS "left"
     FROM (${files}) GROUP BY symbol HAVING listed IS NOT NULL OR "left" IS NOT NULL`,
  );
  const listedAt = new Map<string, number>();
  const delistedAt = new Map<string, number>();
  const doubtful: ListedSymbol[] = [];
  for (const { symbol, listed, left } of rows) {
    const region = regionOf(symbol);
    if (region === undefined) continue;
    if (listed !== null) {
      const listingDate = parseTradingDate(listed);
      const one = { symbol, region, listingDate, listedAt: instantOf(listingDate, REGIONS[region].zone) };
      listedAt.set(symbol, one.listedAt);
      if (isDoubted(one)) doubtful.push(one);
    }
    if (left !== null) delistedAt.set(symbol, endOfDay(left, region));
  }
  for (const symbol of await refutedByBars(parts, doubtful)) listedAt.delete(symbol);
  return { listedAt, delistedAt };
}

/** The symbols whose listing date is wrong, as the lake has a daily bar before it. */
async function refutedByBars(
  { session, lake }: LakeParts,
  listed: readonly ListedSymbol[],
): Promise<readonly string[]> {
  if (listed.length === 0) return [];
  const snapshot = await lake.snapshot(BARS_1D);
  const demands = REGION_NAMES.map((region) => {
    const own = listed.filter((one) => one.region === region);
    const end = own.reduce((latest, { listedAt }) => Math.max(latest, listedAt), Number.NEGATIVE_INFINITY);
    const symbols = own.map(({ symbol }) => symbol).sort(compareText);
    return { region, symbols, range: { start: Number.NEGATIVE_INFINITY, end } };
  });
  const files = lake.filesOf(snapshot, selectFiles(snapshot.files.values(), demands));
  const rows = await session.json<{ symbol: string }>(
    `WITH listed AS (
       SELECT unnest(from_json($1, '["VARCHAR"]')) AS symbol, unnest(from_json($2, '["DATE"]')) AS listing_date)
     SELECT DISTINCT symbol FROM (${await parquetRelation(session, files)}) JOIN listed USING (symbol)
     WHERE trade_date < listing_date`,
    [
      jsonParameter(listed.map(({ symbol }) => symbol)),
      jsonParameter(listed.map(({ listingDate }) => listingDate)),
    ],
  );
  return rows.map(({ symbol }) => symbol);
}

/** A window is not checked again within this time after its request, in milliseconds. */
const RECHECK_AFTER_MS = 12 * 3_600_000;

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
  /** Whether the factors of ex-events of these symbols and days are requested, too. @default false */
  readonly exFactors?: boolean | undefined;
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
  readonly asked: LedgerWindows;
  /** Those of the factors of ex-events, where the demand has them. */
  readonly askedFactors: LedgerWindows | undefined;
  readonly calendars: ReadonlyMap<Region, TradingCalendar>;
  /** When symbols began to trade, where that is known; epoch milliseconds. */
  readonly listedAt: ReadonlyMap<string, number>;
  /** When symbols were seen to be delisted: the end of that day; epoch milliseconds. */
  readonly delistedAt: ReadonlyMap<string, number>;
  /** Windows with a response of final bars, by symbol. The map grows during a run. */
  readonly covered: Map<string, readonly TimeRange[]>;
  /** Windows that an earlier run requested, and in which nothing came, by symbol. */
  readonly empty: ReadonlyMap<string, readonly TimeRange[]>;
}

export function barsTable(period: LandedPeriod): TableSchema {
  return period === "1d" ? BARS_1D : BARS_1M;
}

/** @param starts the start of the requested time by region, in epoch milliseconds. @default that of the demand */
export async function readPlanFacts(
  context: Pick<RunContext, "session" | "lake"> & { readonly clock: Pick<Clock, "now"> },
  demand: Pick<
    BarsDemand,
    | "period"
    | "symbols"
    | "exFactors"
    | "lookbackDays"
    | "allHoles"
    | "since"
    | "endsAtDelisting"
    | "leavingAt"
  > &
    Partial<Pick<BarsDemand, "from">>,
  starts: ReadonlyMap<Region, number> = rangeStarts(demand, context.clock.now()),
): Promise<PlanFacts> {
  const { session, lake, clock } = context;
  const now = clock.now();
  const { lookbackDays } = demand;
  const { name } = barsTable(demand.period);
  // The calendars follow from the windows of days.
  const datasets = [name, BARS_1D.name, ...(demand.exFactors ? [EX_FACTORS.name] : [])];
  const read = await readLedgerWindows(session, lake, datasets, {
    now,
    recentSince: lookbackDays ? now - RECHECK_AFTER_MS : undefined,
  });
  const asked = read.get(name) as LedgerWindows;
  const calendars = await regionCalendars(session, lake, now, read.get(BARS_1D.name));
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
  const askedFactors = read.get(EX_FACTORS.name);
  return {
    now,
    asked,
    askedFactors,
    calendars,
    covered,
    empty: emptyWindows(asked.holes),
    listedAt,
    delistedAt,
  };
}

/** Adds the time in which a demand does not request symbols: before it begins, and after they left. */
export function coverUnwanted(
  covered: Map<string, readonly TimeRange[]>,
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
