import { groupBy } from "../core/group-by.js";
import type { TradingDate } from "../core/time.js";
import { Session, TempTable } from "../db/session/session.js";
import type { Lake } from "../lake/lake.js";
import { landAbsentDays } from "../lake/land/absent-days.js";
import { stageObjects } from "../lake/land/clear-values.js";
import { landKlines } from "../lake/land/land-klines.js";
import { landVersions } from "../lake/land/land-versions.js";
import { Rejects } from "../lake/land/rejects.js";
import { landTradingDays } from "../lake/land/trading-days.js";
import { type LandOptions, upsert } from "../lake/land/upsert.js";
import { writerSpillOptions } from "../lake/local/work-folder.js";
import { publish } from "../lake/publish.js";
import { REGION_NAMES, REGIONS, type Region } from "../market/regions.js";
import { dayRange, finalEnds } from "../market/sessions.js";
import { regionOf } from "../market/symbol.js";
import { instantOf } from "../market/zone.js";
import { inBatches } from "../plan/request-units.js";
import { CORPORATE_ACTIONS } from "../schema/actions.js";
import { BARS_1D, BARS_1M } from "../schema/bars.js";
import type { Column, TableSchema } from "../schema/column.js";
import { EXCHANGES, INSTRUMENTS, UNIVERSE_MEMBERS, UNIVERSES } from "../schema/reference.js";
import { STATEMENT_NAMES, STATEMENTS } from "../schema/statements.js";
import { instrumentRow } from "../wire/instrument-row.js";
import type { KlineColumns } from "../wire/kline-columns.js";
import type { Market } from "./market.js";

export interface FillProgress {
  readonly done: number;
  readonly steps: number;
  readonly bars: number;
  readonly doing: string;
}

interface FillOptions {
  /** Number of newest trading days that get minute bars in addition to daily bars; 0 for none. */
  readonly minuteDays: number;
  /** Regions with minute bars. @default only CN, as with real services */
  readonly minuteRegions?: readonly Region[];
  /** Whether every version of the corporate actions lands, too. @default false: the bars alone show the ex-events */
  readonly withActions?: boolean;
  /** Identifies the run in the logs of the tables. */
  readonly runId: string;
  /**
   * Time of the landings of bars and statements, in epoch milliseconds. Reference data lands at the dates of its
   * snapshots.
   */
  readonly now: number;
  readonly signal?: AbortSignal;
  /** Called before each landing, and at the end. */
  readonly onStep?: (progress: FillProgress) => void;
}

/** Number of bars that are generated and landed together, with about 400 MB of columns. */
const BARS_A_LANDING = 4_000_000;
/** The source of bars and actions. */
export const SIMULATED = "simulated market";
const BARS_A_BATCH = 500_000;

interface Step {
  readonly doing: string;
  /** @returns the number of bars that it landed. */
  run(session: Session): Promise<number>;
}

/**
 * Fills a lake with a simulated market: dated reference data, every version of statements and of corporate actions,
 * daily bars with their trading days, and the minute bars of the newest days. The use of memory is limited for markets
 * of any size. A repeated fill changes nothing.
 */
export async function fillLake(lake: Lake, market: Market, options: FillOptions): Promise<void> {
  using session = await Session.open({ ...writerSpillOptions(lake.work), ...lake.access });
  const steps = planFill(lake, market, options);
  let bars = 0;
  for (const [done, step] of steps.entries()) {
    if (options.signal?.aborted) return;
    options.onStep?.({ done, steps: steps.length, bars, doing: step.doing });
    bars += await step.run(session);
  }
  options.onStep?.({ done: steps.length, steps: steps.length, bars, doing: "views" });
  await publish(lake);
}

function planFill(lake: Lake, market: Market, options: FillOptions): Step[] {
  const { end } = market.spec;
  const symbols = market.instruments.map((instrument) => instrument.symbol);
  const steps: Step[] = [
    {
      doing: "reference data",
      run: (session) => fillReference(session, lake, market, options).then(() => 0),
    },
    { doing: "statements", run: (session) => fillStatements(session, lake, market, options).then(() => 0) },
  ];
  if (options.withActions)
    steps.push({
      doing: "corporate actions",
      run: (session) => fillActions(session, lake, market, options).then(() => 0),
    });
  for (const group of groupsOf(symbols, market.tradingDays("CN").length)) {
    const bars = (batch: readonly string[]): KlineColumns => market.dailyBars(batch, firstDay(market), end);
    steps.push({
      doing: "daily bars",
      run: (session) => landMarket(session, lake, BARS_1D, group, market, options, bars),
    });
  }
  steps.push({
    doing: "trading days",
    run: async (session) => {
      await landTradingDays(session, lake, landOptions(options));
      const absent = market
        .absences(symbols, firstDay(market), end)
        .map((one) => ({ ...one, hasNone: true }));
      await landAbsentDays(session, lake, absent, landOptions(options));
      return 0;
    },
  });
  for (const region of options.minuteRegions ?? (["CN"] as const)) {
    const days = options.minuteDays === 0 ? [] : market.tradingDays(region).slice(-options.minuteDays);
    const members = market.instruments.filter((one) => one.region === region).map((one) => one.symbol);
    for (const month of monthsOf(days)) {
      const [from, to] = [month[0], month.at(-1)] as [TradingDate, TradingDate];
      const bars = (batch: readonly string[]): KlineColumns => market.minuteBars(batch, from, to);
      for (const group of groupsOf(members, month.length * 250)) {
        const doing = `minute bars of ${region}, ${from.slice(0, 7)}`;
        steps.push({
          doing,
          run: (session) => landMarket(session, lake, BARS_1M, group, market, options, bars),
        });
      }
    }
  }
  return steps;
}

async function landMarket(
  session: Session,
  lake: Lake,
  table: TableSchema,
  group: { readonly symbols: readonly string[]; readonly barsPerSymbol: number },
  market: Market,
  options: FillOptions,
  bars: (batch: readonly string[]) => KlineColumns,
): Promise<number> {
  const step = Math.max(1, Math.floor(BARS_A_BATCH / group.barsPerSymbol));
  const made = inBatches(group.symbols, step).map((batch) => ({
    columns: bars(batch),
    source: SIMULATED,
  }));
  const after = dayRange("US", market.spec.end).end;
  const ends = finalEnds(after);
  await using rejects = new Rejects(session, options.runId);
  await landKlines(session, lake, table, made, {
    ...landOptions(options),
    rejects,
    finalEnd: ends,
    marketNow: after,
  });
  return made.reduce((rows, { columns }) => rows + columns.rows, 0);
}

/** Lands reference data as of the first day, the first day of each quarter, and the last day. */
async function fillReference(
  session: Session,
  lake: Lake,
  market: Market,
  options: FillOptions,
): Promise<void> {
  const days = market.tradingDays("CN");
  const dates = days.filter(
    (day, i) => i === 0 || i === days.length - 1 || quarterOf(day) !== quarterOf(days[i - 1] as string),
  );
  for (const date of dates) {
    const now = dayRange("CN", date).start;
    const land = async (
      table: TableSchema,
      rows: readonly Readonly<Record<string, unknown>>[],
    ): Promise<void> => {
      await using staged = new TempTable(session, "staged_versions");
      await stageObjects(session, staged.name, withoutValidity(table), rows);
      await landVersions(session, lake, table, staged.name, {
        ...landOptions(options),
        now,
        complete: "true",
      });
    };
    const universes = market.universesAsOf(date);
    await land(EXCHANGES, market.exchangesAsOf(date));
    await land(INSTRUMENTS, market.instrumentsAsOf(date).map(instrumentRow));
    await land(UNIVERSES, universes);
    await land(
      UNIVERSE_MEMBERS,
      universes.flatMap(({ id, region, symbols }) => symbols.map((symbol) => ({ id, symbol, region }))),
    );
  }
}

async function fillStatements(
  session: Session,
  lake: Lake,
  market: Market,
  options: FillOptions,
): Promise<void> {
  const regions = new Map(market.instruments.map((one) => [one.symbol, one.region]));
  for (const kind of STATEMENT_NAMES) {
    const table = STATEMENTS[kind];
    const rows = market.statementVersions(kind, [...regions.keys()]).map(({ symbol, record, firstSeen }) => {
      const region = regions.get(symbol) as Region;
      return { ...record, symbol, region, first_seen_at: instantOf(firstSeen, REGIONS[region].zone, 8 * 60) };
    });
    await using staged = new TempTable(session, "staged_statements");
    await stageObjects(session, staged.name, table.columns, rows);
    await upsert(session, lake, table, staged.name, landOptions(options));
  }
}

async function fillActions(
  session: Session,
  lake: Lake,
  market: Market,
  options: FillOptions,
): Promise<void> {
  const symbols = market.instruments.map(({ symbol }) => symbol);
  const rows = market.actionVersions(symbols).map(({ firstSeen, ...action }) => {
    const region = regionOf(action.symbol) as Region;
    return {
      ...action,
      region,
      source: SIMULATED,
      first_seen_at: instantOf(firstSeen, REGIONS[region].zone, 8 * 60),
    };
  });
  await using staged = new TempTable(session, "staged_actions");
  await stageObjects(session, staged.name, CORPORATE_ACTIONS.columns, rows);
  await upsert(session, lake, CORPORATE_ACTIONS, staged.name, landOptions(options));
}

function landOptions({ runId, now }: FillOptions): LandOptions {
  return { operation: "SIMULATE", runId, now };
}

function firstDay(market: Market): TradingDate {
  return REGION_NAMES.map((region) => market.tradingDays(region)[0] as TradingDate).sort()[0] as TradingDate;
}

function quarterOf(date: string): string {
  return `${date.slice(0, 4)}-${Math.floor((Number(date.slice(5, 7)) - 1) / 3)}`;
}

function monthsOf(days: readonly TradingDate[]): TradingDate[][] {
  return [...groupBy(days, (day) => day.slice(0, 7)).values()];
}

function groupsOf(
  symbols: readonly string[],
  barsPerSymbol: number,
): { symbols: readonly string[]; barsPerSymbol: number }[] {
  const size = Math.max(1, Math.floor(BARS_A_LANDING / barsPerSymbol));
  const groups = [];
  for (let start = 0; start < symbols.length; start += size) {
    groups.push({ symbols: symbols.slice(start, start + size), barsPerSymbol });
  }
  return groups;
}

function withoutValidity(table: TableSchema): Column[] {
  return table.columns.filter((column) => !column.name.startsWith("valid_"));
}
