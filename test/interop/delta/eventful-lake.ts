import type { TradingDate } from "../../../src/core/time.js";
import { Session } from "../../../src/db/session/session.js";
import { landRequests } from "../../../src/jobs/ledger/ledger.js";
import type { Lake } from "../../../src/lake/lake.js";
import { landAbsentDays } from "../../../src/lake/land/absent-days.js";
import { stageObjects } from "../../../src/lake/land/clear-values.js";
import { landBars, stageBars } from "../../../src/lake/land/land-bars.js";
import { landStatements } from "../../../src/lake/land/land-statements.js";
import { landVersions } from "../../../src/lake/land/land-versions.js";
import { Rejects } from "../../../src/lake/land/rejects.js";
import { upsert } from "../../../src/lake/land/upsert.js";
import { optimize } from "../../../src/lake/maintenance/optimize.js";
import { BARS_1D, TRADING_DAYS } from "../../../src/schema/bars.js";
import { EXCHANGES, INSTRUMENTS } from "../../../src/schema/reference.js";
import { BALANCE_SHEET } from "../../../src/schema/statements.js";
import { TABLES } from "../../../src/schema/tables.js";
import { fillLake } from "../../../src/sim/fill-lake.js";
import { simulateMarket } from "../../../src/sim/market.js";
import { landRun } from "../../lake/land/land-run.js";
import { landSomeActions } from "../../lake/land/some-actions.js";

/** A name of which every part is one that some quoting gets wrong. */
export const ODD_SYMBOL = `O'"B\\r %41ü\u{1f600}.US`;
/** A partition value that must be escaped in a folder's name, and that name once more in the log. */
const ODD_REGION = "N/A & ü %41";

const MINUTE = 60_000;
export const FINAL = { CN: 4e12, HK: 4e12, US: 4e12 };
const LANDINGS = 55;

export interface OddBar {
  /** ISO text. */
  readonly at: string;
  readonly symbol?: string;
  readonly close?: number;
  readonly volume?: bigint;
  readonly prevClose?: number | null;
}

/** Lands daily bars, as an ingest does. @param now epoch milliseconds. */
async function landDaily(
  session: Session,
  lake: Lake,
  bars: readonly OddBar[],
  now: number,
): Promise<number> {
  await stageBars(session, "odd_bars");
  for (const [
    line,
    { at, symbol = ODD_SYMBOL, close = 10.1, volume = 7n, prevClose = null },
  ] of bars.entries()) {
    await session.run(
      `INSERT INTO odd_bars (symbol, timestamp, open, high, low, close, volume, amount, prev_close, lot, source, line)
       VALUES ($1, $2, 0.1, 1e300, -0.0, $3, $4, 5e-324, $5, 1, 'test', ${line})`,
      [symbol, at, close, volume, prevClose],
    );
  }
  const options = { operation: "TEST", runId: "test", now, finalEnd: FINAL, responses: [`test/${now}`] };
  const { version } = await landBars(session, lake, BARS_1D, "odd_bars", {
    ...options,
    rejects: new Rejects(session, "test"),
  });
  return version;
}

/**
 * Fills a lake with what a reader could stumble over: every table, rows that were replaced, more commits than lie
 * between two checkpoints, a compaction and landings behind it, columns that came later, nulls, lists, extreme numbers,
 * names and partitions with quotes, spaces, percent signs and letters outside ASCII.
 *
 * @param start time of the first landing, epoch milliseconds; each next one is a minute later.
 */
export async function fillEventfulLake(lake: Lake, start: number): Promise<void> {
  const market = simulateMarket({ seed: 21, symbols: 9, days: 70, end: "2026-11-20" as TradingDate });
  await fillLake(lake, market, { minuteDays: 1, runId: "sim", now: start });
  using session = await Session.open();
  await landSomeActions(session, lake, start);
  let now = start;
  const next = (): number => {
    now += MINUTE;
    return now;
  };
  await landReference(session, lake, next);
  await landOpenColumns(session, lake, next);
  await landLists(session, lake, next);
  for (let n = 0; n < LANDINGS; n++) {
    const at = `2026-${String(1 + (n % 9)).padStart(2, "0")}-02T05:00:00Z`;
    const bar = {
      at,
      close: n / 3,
      volume: 9_007_199_254_740_993n + BigInt(n),
      prevClose: n % 2 ? n / 7 : null,
    };
    await landDaily(session, lake, [bar], next());
  }
  for (const table of TABLES) {
    await optimize(session, lake, table, { runId: "test" }, { now: next, sleep: () => Promise.resolve() });
  }
  await landDaily(session, lake, [{ at: "2026-10-02T05:00:00Z" }, { at: "2025-10-02T05:00:00Z" }], next());
  await landLists(session, lake, next);
}

/** An instrument and an exchange with odd texts. */
async function landReference(session: Session, lake: Lake, next: () => number): Promise<void> {
  const instrument = {
    symbol: ODD_SYMBOL,
    code: "",
    exchange: "US",
    name: "\u{1d54f} \"'\\ \t\n,;=",
    type: "stock",
    listing_date: "1969-12-31",
    ext_other: '{"a":"\\u0000"}',
    region: "US",
  };
  await stageObjects(session, "odd_rows", INSTRUMENTS.columns, [instrument]);
  await landVersions(session, lake, INSTRUMENTS, "odd_rows", {
    operation: "TEST",
    runId: "test",
    now: next(),
  });
  await stageObjects(session, "odd_rows", EXCHANGES.columns, [
    { exchange: "X", count: 0, region: ODD_REGION },
  ]);
  await landVersions(session, lake, EXCHANGES, "odd_rows", { operation: "TEST", runId: "test", now: next() });
}

/** Statements that bring columns which the older files do not have. */
async function landOpenColumns(session: Session, lake: Lake, next: () => number): Promise<void> {
  for (const [column, type, value] of [
    ["contract_assets", "DOUBLE", "0.1"],
    ["employees", "BIGINT", "9007199254740993"],
  ] as const) {
    await session.run(`CREATE OR REPLACE TEMP TABLE odd_rows AS
      SELECT '600519.SH' AS symbol, DATE '2026-06-30' AS period_end, CAST(NULL AS DATE) AS announce_date,
        1.5::DOUBLE AS total_assets, ${value}::${type} AS ${column}, 'test' AS source, 1::BIGINT AS line`);
    const options = { operation: "TEST", runId: "test", now: next() };
    await landStatements(session, lake, BALANCE_SHEET, "odd_rows", {
      ...options,
      rejects: new Rejects(session, "test"),
    });
  }
}

/** Requests: no symbol, one, several; a reason with odd letters. */
async function landLists(session: Session, lake: Lake, next: () => number): Promise<void> {
  const now = next();
  const lists = [[], [ODD_SYMBOL], ["AAPL.US", "", "600519.SH"]];
  const runId = `test/${now}`;
  const records = lists.map((symbols, index) => ({
    runId,
    pipeline: "test",
    requestId: String(index),
    dataset: "bars_1d",
    endpoint: "GET /v1/klines/batch",
    symbols,
    askedAt: now - index * 40 * 86_400_000,
    status: "answered" as const,
    attempts: 1,
    rows: index,
    rejected: 0,
    bytes: 100,
    durationMs: 5,
    absent: symbols.slice(1),
    reason: index === 1 ? ODD_SYMBOL : undefined,
  }));
  const options = { operation: "TEST", runId, now };
  await landRequests(session, lake, records, options);
  const absent = { symbol: ODD_SYMBOL, first: 19_000, end: 19_003, hasNone: true };
  await landAbsentDays(session, lake, [absent], options);
  await landRun(session, lake, ODD_SYMBOL, now);
  const days = ["2024-01-02", "2024-01-03"].map((trade_date) => ({
    region: "CN",
    trade_date,
    source: "index",
  }));
  await stageObjects(session, "staged_days", TRADING_DAYS.columns, days);
  await upsert(session, lake, TRADING_DAYS, "staged_days", options);
}
