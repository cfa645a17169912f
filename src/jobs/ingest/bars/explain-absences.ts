import { groupBy } from "../../../core/group-by.js";
import { subtractRanges, type TimeRange, unionRanges } from "../../../core/time.js";
import { literal, literalList } from "../../../db/quote.js";
import { jsonParameter } from "../../../db/session/named-values.js";
import type { Session } from "../../../db/session/session.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import type { Lake } from "../../../lake/lake.js";
import { CALENDAR_SYMBOLS, FEWEST_SYMBOLS } from "../../../lake/land/trading-days.js";
import type { LandedPeriod } from "../../../market/period.js";
import type { Region } from "../../../market/regions.js";
import { rangeOfDay } from "../../../market/sessions.js";
import type { TradingCalendar } from "../../../market/trading-calendar.js";
import {
  type AbsentGroup,
  AbsentSymbols,
  areMany,
  explainAbsence,
  isOpen,
  isSilent,
  keyOf,
  REASON_RULES,
  type SymbolCount,
} from "../../../plan/absence/absence.js";
import type { ResponseVerdict } from "../../../plan/absence/judge-response.js";
import type { Page } from "../../../plan/absence/older-bars.js";
import type { TableSchema } from "../../../schema/column.js";
import { INSTRUMENTS } from "../../../schema/reference.js";
import type { AbsenceReason } from "../../../schema/runs.js";
import { ENDPOINTS } from "../../../wire/endpoints.js";
import { absentBefore, daysOfNone, instantSql, lastReceived } from "../../ledger/ledger.js";
import { holesNow } from "../../ledger/ledger-windows.js";
import type { RecentWindows } from "../../ledger/recent-windows.js";
import type { Run } from "../../run/run.js";
import { type BarsDemand, type PlanFacts, rangeOf } from "./bars-demand.js";

interface TradedDay {
  readonly region: Region;
  readonly range: TimeRange;
  /** Number of symbols that traded, and whether the region's index is one of them. */
  readonly symbols: number;
  readonly hasIndex: boolean;
}

/**
 * The days of some windows on which symbols traded. The calendar does not have the days whose bars landed in this run.
 */
async function tradedDays(
  { session, lake, table }: LakeTable,
  windows: readonly { readonly region: Region; readonly window: TimeRange }[],
): Promise<TradedDay[]> {
  if (windows.length === 0) return [];
  const bars = await parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
  const within = windows.map(
    ({ region, window: { start, end } }) =>
      `(region = ${literal(region)} AND timestamp >= ${instantSql(start)} AND timestamp < ${instantSql(end)})`,
  );
  const rows = await session.json<Omit<TradedDay, "range"> & { readonly day: number }>(
    `SELECT region, (trade_date - DATE '1970-01-01')::INTEGER AS day, count(DISTINCT symbol)::INTEGER AS symbols,
       bool_or(symbol IN (SELECT unnest(${literalList(Object.values(CALENDAR_SYMBOLS).flat())}))) AS "hasIndex"
     FROM (${bars}) WHERE is_final AND volume > 0 AND (${[...new Set(within)].join(" OR ")})
     GROUP BY region, trade_date`,
  );
  return rows.map(({ day, ...one }) => ({ ...one, range: rangeOfDay(one.region, day) }));
}

/**
 * Whether a day was a session, although symbols have no bar on it: its index traded, or a number of symbols that is
 * not small next to that of the absent ones. A service may have a stray bar on a holiday.
 */
function wasSession({ symbols, hasIndex }: TradedDay, absent: number): boolean {
  return hasIndex || symbols >= Math.min(FEWEST_SYMBOLS, absent / 10);
}

/** The regions for which a run has received minutes. Many services have minutes only for Chinese instruments. */
class MinuteRegions {
  readonly #withMinutes = new Set<Region>();
  readonly #withoutMinutes = new Set<Region>();
  readonly #period: LandedPeriod;

  constructor(period: LandedPeriod) {
    this.#period = period;
  }

  came(region: Region): void {
    this.#withMinutes.add(region);
  }

  /** Records that no bars of a region were received, although they were requested twice. */
  didNotCome(region: Region): void {
    this.#withoutMinutes.add(region);
  }

  /** Whether the service may have no minutes of a region: it has at least not returned any in this run. */
  mayLack(region: Region): boolean {
    return this.#period === "1m" && region !== "CN" && !this.#withMinutes.has(region);
  }

  /** Whether the service was found to have no minutes of a region. */
  lack(region: Region): boolean {
    return this.#withoutMinutes.has(region);
  }
}

/** Symbols that are absent in a window for the same reason. */
interface ExplainedGroup extends AbsentGroup {
  /** The requested window, of which `window` is all or a part. */
  readonly requested: TimeRange;
  readonly reason: AbsenceReason;
  /** The number of trading days in the window, as far as the calendar knows them. */
  readonly days: number;
}

interface DemandFacts {
  readonly period: LandedPeriod;
  readonly calendars: ReadonlyMap<Region, TradingCalendar>;
  /** When symbols were listed, where that is known; epoch milliseconds. */
  readonly listedAt: ReadonlyMap<string, number>;
  readonly answered: ReadonlyMap<string, readonly TimeRange[]>;
  /** Whether a response with other symbols lacked a symbol that traded up to the window, and few such symbols. */
  readonly isOneOfFew: (symbol: string, region: Region, window: TimeRange) => boolean;
  /** Whether an earlier run requested a window of a symbol, and nothing came. */
  readonly wasEmpty: (symbol: string, window: TimeRange) => boolean;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** What the lake has, with the bars that landed in this run, and what its ledger shows; times in epoch milliseconds. */
interface LakeFacts {
  /** The first bar of each symbol, and of each region. */
  readonly firstBars: ReadonlyMap<string, number>;
  readonly firstOfRegion: ReadonlyMap<Region, number>;
  /** Symbols that the service once listed and no longer lists. */
  readonly ended: ReadonlySet<string>;
  readonly absentBefore: ReadonlyMap<string, readonly TimeRange[]>;
  readonly traded: readonly TradedDay[];
  /** Number of earlier days on which requests for symbols without a bar brought nothing. */
  readonly daysOfNone: ReadonlyMap<string, number>;
  /** Of minutes: the start of the last window of which a response had bars. */
  readonly lastMinutes: ReadonlyMap<Region, number>;
}

interface LakeTable {
  readonly session: Session;
  readonly lake: Lake;
  readonly table: TableSchema;
}

/** Reads what the lake shows about symbols without bars. */
async function readLakeFacts(
  place: LakeTable,
  groups: readonly AbsentGroup[],
  { period, now }: Pick<DemandFacts, "period" | "now">,
): Promise<LakeFacts> {
  const { session, lake, table } = place;
  const symbols = [...new Set(groups.flatMap((group) => group.symbols))];
  const [firstBars, firstOfRegion] = await firstBarsOf(place, symbols);
  const without = symbols.filter((symbol) => !firstBars.has(symbol));
  return {
    firstBars,
    firstOfRegion,
    ended: await endedSymbols(place, symbols),
    absentBefore: await absentBefore(session, lake, table.name, symbols),
    traded: await tradedDays(place, groups),
    daysOfNone: await daysOfNone(session, lake, table.name, without, now),
    lastMinutes: period === "1m" ? await lastReceived(session, lake, table.name) : new Map(),
  };
}

function countSymbols(region: Region, symbols: readonly string[]): SymbolCount {
  const hasIndex = symbols.some((symbol) => CALENDAR_SYMBOLS[region].includes(symbol));
  return { symbols: symbols.length, hasIndex };
}

/**
 * Explains why symbols have no bars. The window of a request may contain time that earlier responses have settled for a
 * symbol. A reason because of which the window is requested again applies only to the remaining time.
 */
export function explainAbsences(
  groups: readonly AbsentGroup[],
  { period, calendars, listedAt, now, ...demand }: DemandFacts,
  { firstBars, firstOfRegion, ended, absentBefore: before, traded, ...lake }: LakeFacts,
): ExplainedGroup[] {
  const explained: ExplainedGroup[] = [];
  const daysIn = (region: Region, window: TimeRange): number =>
    calendars.get(region)?.daysIn(window, now).length ?? 0;
  const emptyTime = timeOf(groups);
  for (const { region, window, symbols: own } of groups) {
    const absent = countSymbols(region, own);
    const sessions = traded.filter((day) => day.region === region && wasSession(day, absent.symbols));
    const othersCame = (range: TimeRange): boolean => sessions.some((day) => overlaps(day.range, range));
    const hasSession = (range: TimeRange): boolean =>
      calendars.get(region)?.hasKnownDay(range) === true || othersCame(range);
    const isBeforeMinutes = window.start < (lake.lastMinutes.get(region) ?? Number.NEGATIVE_INFINITY);
    const newsOf = (symbol: string): TimeRange[] => subtractRanges(window, before.get(symbol) ?? []);
    const factsOf = (symbol: string, news: readonly TimeRange[]) => ({
      ...window,
      hasEnded: ended.has(symbol),
      wasAbsent: news.length === 0,
      firstBar: firstBars.get(symbol),
    });
    const isOneOfFew = (symbol: string): boolean => demand.isOneOfFew(symbol, region, window);
    const silent = countSymbols(
      region,
      own.filter((symbol) => !isOneOfFew(symbol) && isSilent(factsOf(symbol, newsOf(symbol)))),
    );
    const byReason = new Map<string, ExplainedGroup & { readonly symbols: string[] }>();
    const add = (reason: AbsenceReason, symbol: string, windows: readonly TimeRange[]): void => {
      for (const part of windows) {
        const key = `${reason} ${part.start} ${part.end}`;
        const known = byReason.get(key);
        if (known !== undefined) known.symbols.push(symbol);
        else
          byReason.set(key, {
            region,
            requested: window,
            window: part,
            symbols: [symbol],
            reason,
            days: daysIn(region, part),
          });
      }
    };
    for (const symbol of own) {
      const news = newsOf(symbol);
      const reason = explainAbsence({
        ...factsOf(symbol, news),
        lacksMinutes: period === "1m" && region !== "CN" && !firstOfRegion.has(region),
        isBeforeMinutes,
        firstOfRegion: firstOfRegion.get(region),
        wasEmpty: demand.wasEmpty(symbol, window),
        listedAt: listedAt.get(symbol),
        days: daysIn(region, emptyTime(symbol, window)),
        hasSession: news.some(hasSession),
        othersCame: news.some(othersCame),
        daysOfNone: lake.daysOfNone.get(symbol) ?? 0,
        absent,
        silent: isOneOfFew(symbol) ? countSymbols(region, [symbol]) : silent,
      });
      if (REASON_RULES[reason].lasts === "settled") {
        add(reason, symbol, [window]);
        continue;
      }
      // Only time that no response has settled becomes due again.
      const answered = demand.answered.get(symbol) ?? [];
      add("others_came", symbol, subtractRanges(window, news));
      add(
        reason,
        symbol,
        news.flatMap((part) => subtractRanges(part, answered)),
      );
    }
    explained.push(...byReason.values());
  }
  return explained;
}

/** A function that returns the time of the windows of a symbol that adjoin a window, so that no reason depends on their lengths. */
function timeOf(groups: readonly AbsentGroup[]): (symbol: string, window: TimeRange) => TimeRange {
  const windows = new Map<string, TimeRange[]>();
  for (const { symbols, window } of groups) {
    for (const symbol of symbols) {
      const own = windows.get(symbol);
      if (own === undefined) windows.set(symbol, [window]);
      else own.push(window);
    }
  }
  const joined = new Map<string, readonly TimeRange[]>();
  return (symbol, window) => {
    const known = joined.get(symbol) ?? unionRanges(windows.get(symbol) ?? []);
    joined.set(symbol, known);
    return known.find(({ start, end }) => start <= window.start && window.end <= end) ?? window;
  };
}

/**
 * Joins windows that adjoin, in which the same symbols are absent for the same reason: they are requested again together.
 */
function joinWindows(
  groups: readonly Pick<ExplainedGroup, "region" | "window" | "symbols" | "reason">[],
): Pick<ExplainedGroup, "region" | "window" | "symbols" | "reason">[] {
  const bySymbols = groupBy(
    groups,
    ({ region, reason, symbols }) => `${region} ${reason} ${symbols.join(" ")}`,
  );
  return [...bySymbols.values()].flatMap((same) =>
    unionRanges(same.map(({ window }) => window)).map((window) => ({
      ...(same[0] as (typeof groups)[number]),
      window,
    })),
  );
}

function overlaps(a: TimeRange, b: TimeRange): boolean {
  return a.start < b.end && a.end > b.start;
}

/** The first bar of each symbol and of each region, in epoch milliseconds. */
async function firstBarsOf(
  { session, lake, table }: LakeTable,
  symbols: readonly string[],
): Promise<[Map<string, number>, Map<Region, number>]> {
  const bars = await parquetRelation(session, lake.filesOf(await lake.snapshot(table)));
  const own = await session.json<{ symbol: string; first: number }>(
    `SELECT symbol, epoch_ms(min(timestamp))::DOUBLE AS first FROM (${bars})
     WHERE symbol IN (SELECT unnest(from_json($1, '["VARCHAR"]'))) GROUP BY symbol`,
    [jsonParameter(symbols)],
  );
  const regions = await session.json<{ region: Region; first: number }>(
    `SELECT region, epoch_ms(min(timestamp))::DOUBLE AS first FROM (${bars}) GROUP BY region`,
  );
  return [
    new Map(own.map(({ symbol, first }) => [symbol, first])),
    new Map(regions.map(({ region, first }) => [region, first])),
  ];
}

/** Symbols that the service once listed and no longer lists. */
async function endedSymbols({ session, lake }: LakeTable, symbols: readonly string[]): Promise<Set<string>> {
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(INSTRUMENTS)));
  const rows = await session.json<{ symbol: string }>(
    `SELECT symbol FROM (${files}) WHERE symbol IN (SELECT unnest(from_json($1, '["VARCHAR"]')))
     GROUP BY symbol HAVING bool_and(valid_to IS NOT NULL)`,
    [jsonParameter(symbols)],
  );
  return new Set(rows.map(({ symbol }) => symbol));
}

/** Symbols without bars in the responses to a demand: those that are requested again, and those that were absent twice. */
export class DemandAbsences {
  readonly symbols = new AbsentSymbols();
  readonly minutes: MinuteRegions;
  readonly wasEmpty: (symbol: string, window: TimeRange) => boolean;
  /** How many like it the first response about a window lacked, for each symbol that had traded up to the window. */
  readonly #silent = new Map<string, "few" | "many">();

  /**
   * @param wasEmpty whether all of a window that no response has settled for a symbol was requested by an earlier run, and
   *   nothing came.
   */
  constructor(period: LandedPeriod, wasEmpty: (symbol: string, window: TimeRange) => boolean) {
    this.minutes = new MinuteRegions(period);
    this.wasEmpty = wasEmpty;
  }

  get isEmpty(): boolean {
    return this.symbols.isEmpty;
  }

  /** Whether a symbol traded up to a requested window, and a response with others lacked it and few like it. */
  isOneOfFew(symbol: string, region: Region, window: TimeRange): boolean {
    return this.#silent.get(keyOfSymbol(symbol, { region, window })) === "few";
  }

  /**
   * Schedules a second request for absent symbols, and records those that are absent again. An empty window that an earlier
   * run requested has had its second request.
   */
  take(page: Page, { absence, present }: Pick<ResponseVerdict, "absence" | "present">): void {
    const { region, window, again } = page;
    const [group, isBarren] = [{ region, window, symbols: absence.unconfirmed }, present.length === 0];
    const like = areMany(countSymbols(region, absence.silent)) ? "many" : "few";
    for (const symbol of absence.silent) {
      const key = keyOfSymbol(symbol, page);
      if (!this.#silent.has(key)) this.#silent.set(key, like);
    }
    if (again === "some") this.symbols.seen(page, new Set(present));
    if (again === "some" && isBarren && this.minutes.mayLack(region)) {
      this.minutes.didNotCome(region);
      this.symbols.closeRegion(region);
    }
    if (group.symbols.length === 0) return;
    const isSecond =
      again !== undefined ||
      (isBarren && (this.minutes.lack(region) || group.symbols.every((one) => this.wasEmpty(one, window))));
    if (isSecond) this.symbols.addUnseen(group);
    else this.symbols.add(group, !isBarren);
  }

  /** The follow-up requests that are to be sent now. @param size most symbols of one request. */
  takeFollowUps(size: number): Page[] {
    return this.symbols.takeFollowUps(size, (region: Region) => this.minutes.mayLack(region));
  }
}

function keyOfSymbol(symbol: string, page: Pick<Page, "region" | "window">): string {
  return `${keyOf(page)} ${symbol}`;
}

export interface Leftovers {
  readonly table: TableSchema;
  readonly facts: PlanFacts;
  readonly absent: DemandAbsences;
  readonly recent: RecentWindows;
  /** Windows that a full response has settled, by symbol. */
  readonly answered: ReadonlyMap<string, readonly TimeRange[]>;
}

/**
 * Explains absent rows, and reports missing and withdrawn ones. It is called when everything has landed.
 */
export async function explainLeftovers(run: Run, demand: BarsDemand, leftovers: Leftovers): Promise<void> {
  await enterAbsences(run, demand, leftovers);
  await noteWithdrawn(run, leftovers);
  await noteHoles(run, demand, leftovers);
}

/** Records absences and their reasons in the ledger, once. */
async function enterAbsences(
  run: Run,
  { period, lookbackDays }: BarsDemand,
  { table, facts, absent, answered, recent }: Leftovers,
): Promise<void> {
  const { session, lake } = run.context;
  if (run.requests.isHalted(table.name)) return;
  const { calendars, listedAt, now } = facts;
  const isOneOfFew: DemandAbsences["isOneOfFew"] = (...one) => absent.isOneOfFew(...one);
  const { wasEmpty } = absent;
  const groups = absent.symbols.takeUnseen();
  const known = { period, calendars, listedAt, answered, isOneOfFew, wasEmpty, now };
  const explained =
    groups.length === 0
      ? []
      : await run.exclusive(async () =>
          explainAbsences(groups, known, await readLakeFacts({ session, lake, table }, groups, known)),
        );
  for (const { region, window, symbols, reason } of joinWindows(explained)) {
    const finalEnd = run.context.finalEnds[region];
    run.ledger.enterSettled(
      { endpoint: ENDPOINTS.klinesBatch, dataset: table.name, symbols, window, finalEnd },
      reason,
    );
  }
  for (const { region, requested, window, symbols, reason, days } of explained) {
    // Bars that the service no longer has are withdrawn, as a response with others lacks them.
    if (reason === "suspended" && lookbackDays) {
      const lacked = symbols.filter((symbol) => isOneOfFew(symbol, region, requested));
      recent.addEmpty(lacked, window);
    }
    if (!isOpen(reason)) run.log.completeness.absent(table.name, reason, symbols, days);
  }
  await run.exclusive(() => run.ledger.land());
}

async function noteWithdrawn(run: Run, { table, recent }: Leftovers): Promise<void> {
  for (const gone of await run.exclusive(() => recent.gone(run.context.session, run.context.lake, table)))
    run.log.completeness.withdrawn(table.name, gone);
}

/**
 * Reports the windows of a demand that are unexplained, or have bars that were set aside, in this run or an earlier
 * one.
 */
async function noteHoles(run: Run, demand: BarsDemand, { table, facts }: Leftovers): Promise<void> {
  const dataset = table.name;
  const { session, lake } = run.context;
  const leavesNone = (version: number): boolean => run.ledger.leavesNone(version);
  const holes = await run.exclusive(() => holesNow(session, lake, facts.asked, leavesNone));
  for (const [region, symbols] of demand.symbols) {
    const { start, end } = rangeOf(region, demand, run.context.marketClock.now());
    for (const symbol of symbols) {
      for (const { reason, window } of holes.get(symbol) ?? []) {
        if (!isOpen(reason)) continue;
        // A day that is now known to be a holiday, or to be before the listing, is no longer requested.
        const since = Math.max(start, window.start, facts.listedAt.get(symbol) ?? start);
        const asked = { start: since, end: Math.min(end, window.end) };
        if (facts.calendars.get(region)?.daysIn(asked, facts.now).length === 0) continue;
        if (reason === "unexplained") run.log.completeness.unexplained(dataset, { symbol, ...window });
        else if (!run.log.completeness.hasSetAside(dataset, symbol, window))
          run.log.completeness.setAside(dataset, { symbol, window, bars: undefined });
      }
    }
  }
}
