import type { TradingDate } from "../../src/core/time.js";
import { Session } from "../../src/db/session/session.js";
import { landRequests } from "../../src/jobs/ledger/ledger.js";
import type { Lake } from "../../src/lake/lake.js";
import { stageObjects } from "../../src/lake/land/clear-values.js";
import { landActions } from "../../src/lake/land/land-versions.js";
import { REGIONS, type Region } from "../../src/market/regions.js";
import { regionOf } from "../../src/market/symbol.js";
import { instantOf } from "../../src/market/zone.js";
import { EX_FACTORS, SYMBOL_CHANGES } from "../../src/schema/actions.js";
import type { TableSchema } from "../../src/schema/column.js";
import { fillLake } from "../../src/sim/fill-lake.js";
import { type Market, simulateMarket } from "../../src/sim/market.js";
import { landRun } from "./land/land-run.js";

/** A run of a lake: the last date that it has, and when it had landed, epoch milliseconds. */
export interface Night {
  readonly date: TradingDate;
  readonly now: number;
}

/** How a lake is filled night after night. */
export interface NightlyLake {
  readonly seed: number;
  readonly symbols: number;
  readonly days: number;
  readonly end: TradingDate;
  readonly nights: number;
  readonly regions: readonly Region[];
  /** Whether statements are first seen by the last night, as by a lake that begins with history. @default false */
  readonly isBackfilled?: boolean;
}

/**
 * Fills a lake by runs of single nights. Each lands what was announced and traded since the one before, and the reference
 * data of its date; of symbols that are renamed, delisted or listed, and of restatements, a night knows what was so by
 * then. The state after each of them is that as of its time.
 */
export async function fillNightly(lake: Lake, options: NightlyLake): Promise<Night[]> {
  const { seed, symbols, days, end, regions } = options;
  const market = simulateMarket({ seed, symbols, days, end });
  const dates = market.tradingDays(regions[0] as Region);
  const step = Math.floor(dates.length / options.nights);
  const chosen = dates.filter((_, i) => i % step === step - 1 - ((seed + i) % 3) || i === dates.length - 1);
  const nights: Night[] = [];
  let from = dates[0] as TradingDate;
  for (const [index, date] of chosen.entries()) {
    const now = instantOf(date, REGIONS.CN.zone, 23 * 60);
    const part = windowOf(market, from, date, options);
    await fillLake(lake, part, {
      minuteDays: 2,
      minuteRegions: regions,
      withActions: true,
      runId: `n${index}`,
      now,
    });
    await landOthers(lake, market, { from, date, isRenamed: index === 1 });
    nights.push({ date, now });
    from = nextOf(dates, date);
  }
  return nights;
}

/** The part of a market that the run of a night lands. Statements are those with an announcement. */
function windowOf(
  market: Market,
  from: TradingDate,
  to: TradingDate,
  { regions, end, isBackfilled = false }: NightlyLake,
): Market {
  const isOf = ({ region }: { readonly region: string }): boolean => regions.includes(region as Region);
  const isSeen = ({ firstSeen }: { readonly firstSeen: TradingDate }): boolean => firstSeen <= to;
  return {
    ...market,
    spec: { ...market.spec, end: to },
    instruments: market.instruments.filter(isOf),
    tradingDays: (region) => market.tradingDays(region).filter((day) => day >= from && day <= to),
    actionVersions: (symbols) => market.actionVersions(symbols).filter(isSeen),
    statementVersions: (kind, symbols) =>
      market
        .statementVersions(kind, symbols)
        .filter(({ record }) => record.announce_date !== null)
        .map((version) => (isBackfilled ? { ...version, firstSeen: end } : version))
        .filter(isSeen),
    instrumentsAsOf: (date) => market.instrumentsAsOf(date).filter(isOf),
    universesAsOf: (date) => market.universesAsOf(date).filter(isOf),
    exchangesAsOf: (date) => market.exchangesAsOf(date).filter(isOf),
  };
}

/** Factors, a rename, and the record of the run. */
async function landOthers(
  lake: Lake,
  market: Market,
  {
    from,
    date,
    isRenamed,
  }: { readonly from: TradingDate; readonly date: TradingDate; readonly isRenamed: boolean },
): Promise<void> {
  using session = await Session.open({ threads: 1 });
  const seen = instantOf(date, REGIONS.CN.zone, 12 * 60);
  const own = market.instruments.filter(({ region }) => region === "CN").map(({ symbol }) => symbol);
  const land = async (table: TableSchema, rows: readonly Record<string, unknown>[]): Promise<void> => {
    if (rows.length === 0) return;
    const columns = table.columns.filter(({ name }) => name !== "first_seen_at");
    await stageObjects(session, "staged_others", columns, rows);
    await landActions(session, lake, table, "staged_others", { operation: "TEST", runId: date, now: seen });
  };
  await land(
    EX_FACTORS,
    market.exFactors(own, from, date).map(({ symbol, date: ex_date, factor }) => ({
      symbol,
      ex_date,
      factor,
      source: "service",
      region: regionOf(symbol),
    })),
  );
  const [first, second, third] = own;
  const change = { from_date: date, source: "test", region: "CN" };
  await land(SYMBOL_CHANGES, [
    { ...change, symbol: first, kind: "delisting" },
    ...(isRenamed ? [{ ...change, symbol: second, kind: "rename", new_symbol: third }] : []),
  ]);
  await landRun(session, lake, "nightly", seen);
  const request = {
    runId: `test/${seen}`,
    pipeline: "test",
    requestId: "0",
    dataset: "bars_1d",
    endpoint: "GET /v1/klines/batch",
    symbols: own,
    askedAt: seen,
    status: "answered" as const,
    attempts: 1,
    rows: 3,
    rejected: 0,
    bytes: 100,
    durationMs: 5,
    absent: [],
  };
  await landRequests(session, lake, [request], { operation: "TEST", runId: request.runId, now: seen });
}

function nextOf(dates: readonly TradingDate[], date: TradingDate): TradingDate {
  return dates[dates.indexOf(date) + 1] ?? date;
}
