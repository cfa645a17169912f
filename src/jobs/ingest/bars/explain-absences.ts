import { subtractRanges, type TimeRange, unionRanges } from "../../../core/time.js";
import { jsonParameter } from "../../../db/session/json-parameter.js";
import type { Session } from "../../../db/session/session.js";
import { parquetRelation } from "../../../db/views/parquet-relation.js";
import type { Lake } from "../../../lake/lake.js";
import { CALENDAR_SYMBOLS } from "../../../lake/land/trading-days.js";
import type { LandedPeriod } from "../../../market/period.js";
import type { Region } from "../../../market/regions.js";
import type { TradingCalendar } from "../../../market/trading-calendar.js";
import {
  type AbsenceReason,
  ASKED_AGAIN_SOON,
  explainAbsence,
  isSilent,
  type SymbolCount,
} from "../../../plan/absence/absence.js";
import type { AbsentGroup } from "../../../plan/absence/absent-symbols.js";
import type { TableSchema } from "../../../schema/column.js";
import { INSTRUMENTS } from "../../../schema/reference.js";
import { absentBefore, daysOfNone, lastReceived } from "../../ledger/ledger.js";
import { tradedDays, wasSession } from "./traded-days.js";

/** Symbols that are absent in a window for the same reason. */
export interface ExplainedGroup extends AbsentGroup {
  /** The requested window, of which `window` is all or a part. */
  readonly requested: TimeRange;
  readonly reason: AbsenceReason;
  /** The number of trading days in the window, as far as the calendar knows them. */
  readonly days: number;
}

interface Parts {
  readonly session: Session;
  readonly lake: Lake;
  readonly table: TableSchema;
  readonly period: LandedPeriod;
  readonly calendars: ReadonlyMap<Region, TradingCalendar>;
  /** When symbols were listed, where that is known; epoch milliseconds. */
  readonly listedAt: ReadonlyMap<string, number>;
  /** Windows that a full response has settled, by symbol. */
  readonly answered: ReadonlyMap<string, readonly TimeRange[]>;
  /** Whether a response with other symbols lacked a symbol that traded up to the window, and few such symbols. */
  readonly isOneOfFew: (symbol: string, region: Region, window: TimeRange) => boolean;
  /** Whether an earlier run requested a window of a symbol, and nothing came. */
  readonly wasEmpty: (symbol: string, window: TimeRange) => boolean;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** Counts symbols of a region. */
export function countSymbols(region: Region, symbols: readonly string[]): SymbolCount {
  const hasIndex = symbols.some((symbol) => CALENDAR_SYMBOLS[region].includes(symbol));
  return { symbols: symbols.length, hasIndex };
}

/**
 * Explains from the lake's data why symbols have no bars. Bars that landed in this run count. The window of a request
 * may contain time that earlier responses have settled for a symbol. A reason because of which the window is requested
 * again applies only to the remaining time.
 */
export async function explainAbsences(
  parts: Parts,
  groups: readonly AbsentGroup[],
): Promise<ExplainedGroup[]> {
  const { session, lake, table, period, calendars, listedAt, now } = parts;
  if (groups.length === 0) return [];
  const symbols = [...new Set(groups.flatMap((group) => group.symbols))];
  const [firstBars, firstOfRegion] = await firstBarsOf(parts, symbols);
  const ended = await endedSymbols(parts, symbols);
  const before = await absentBefore(session, lake, table.name, symbols);
  const explained: ExplainedGroup[] = [];
  const daysIn = (region: Region, window: TimeRange): number =>
    calendars.get(region)?.daysIn(window, now).length ?? 0;
  const traded = await tradedDays(parts, groups);
  const without = symbols.filter((symbol) => !firstBars.has(symbol));
  const nones = await daysOfNone(session, lake, table.name, without, now);
  const emptyTime = timeOf(groups);
  const lastMinutes = period === "1m" ? await lastReceived(session, lake, table.name) : undefined;
  for (const { region, window, symbols: own } of groups) {
    const absent = countSymbols(region, own);
    const sessions = traded.filter((day) => day.region === region && wasSession(day, absent.symbols));
    const othersCame = (range: TimeRange): boolean => sessions.some((day) => overlaps(day.range, range));
    const hasSession = (range: TimeRange): boolean =>
      calendars.get(region)?.hasKnownDay(range) === true || othersCame(range);
    const isBeforeMinutes = window.start < (lastMinutes?.get(region) ?? Number.NEGATIVE_INFINITY);
    const newsOf = (symbol: string): TimeRange[] => subtractRanges(window, before.get(symbol) ?? []);
    const factsOf = (symbol: string, news: readonly TimeRange[]) => ({
      ...window,
      hasEnded: ended.has(symbol),
      wasAbsent: news.length === 0,
      firstBar: firstBars.get(symbol),
    });
    const isOneOfFew = (symbol: string): boolean => parts.isOneOfFew(symbol, region, window);
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
        wasEmpty: parts.wasEmpty(symbol, window),
        listedAt: listedAt.get(symbol),
        days: daysIn(region, emptyTime(symbol, window)),
        hasSession: news.some(hasSession),
        othersCame: news.some(othersCame),
        daysOfNone: nones.get(symbol) ?? 0,
        absent,
        silent: isOneOfFew(symbol) ? countSymbols(region, [symbol]) : silent,
      });
      if (!ASKED_AGAIN_SOON.includes(reason)) {
        add(reason, symbol, [window]);
        continue;
      }
      // Only time that no response has settled becomes due again.
      const answered = parts.answered.get(symbol) ?? [];
      add("as_before", symbol, subtractRanges(window, news));
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
export function joinWindows(
  groups: readonly Pick<ExplainedGroup, "region" | "window" | "symbols" | "reason">[],
): Pick<ExplainedGroup, "region" | "window" | "symbols" | "reason">[] {
  const bySymbols = new Map<string, (typeof groups)[number][]>();
  for (const group of groups) {
    const key = `${group.region} ${group.reason} ${group.symbols.join(" ")}`;
    const same = bySymbols.get(key);
    if (same === undefined) bySymbols.set(key, [group]);
    else same.push(group);
  }
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
  { session, lake, table }: Parts,
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
async function endedSymbols({ session, lake }: Parts, symbols: readonly string[]): Promise<Set<string>> {
  const files = await parquetRelation(session, lake.filesOf(await lake.snapshot(INSTRUMENTS)));
  const rows = await session.json<{ symbol: string }>(
    `SELECT symbol FROM (${files}) WHERE symbol IN (SELECT unnest(from_json($1, '["VARCHAR"]')))
     GROUP BY symbol HAVING bool_and(valid_to IS NOT NULL)`,
    [jsonParameter(symbols)],
  );
  return new Set(rows.map(({ symbol }) => symbol));
}
