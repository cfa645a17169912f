import { DAY_MS, type TimeRange } from "../../core/time.js";
import { literal, literalList } from "../../db/quote.js";
import { jsonParameter } from "../../db/session/json-parameter.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import type { Lake } from "../../lake/lake.js";
import { stageObjects } from "../../lake/land/stage-objects.js";
import { type LandOptions, upsert } from "../../lake/land/upsert.js";
import type { Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { type AbsenceReason, BARS_SET_ASIDE } from "../../plan/absence/absence.js";
import { REQUESTS } from "../../schema/requests.js";
import { type AnswerRecord, landAbsences } from "./land-absences.js";
import { instantSql, ledgerSql } from "./ledger-sql.js";

/**
 * The reason of a failed request without a window, of whose response rows were set aside; its text may contain other
 * reasons, too. The record names the symbols that are requested again. A record with {@link BARS_SET_ASIDE} names a window of
 * an answered request instead; because of it, {@link lastResponses} leaves out all symbols of that request.
 */
export const ROWS_SET_ASIDE = "rows were set aside";

/** One row of the ledger: a request and its result. Times are in epoch milliseconds. */
export interface RequestRecord extends AnswerRecord {
  readonly runId: string;
  readonly pipeline: string;
  readonly requestId: string;
  readonly endpoint: string;
  readonly askedAt: number;
  readonly httpStatus?: number | undefined;
  readonly attempts: number;
  readonly rows: number;
  readonly rejected: number;
  readonly bytes: number;
  readonly durationMs: number;
}

/** Lands records in the ledger. @returns the version of the ledger with the records; undefined where there are none. */
export async function landRequests(
  session: Session,
  lake: Lake,
  records: readonly RequestRecord[],
  options: LandOptions,
): Promise<number | undefined> {
  if (records.length === 0) return undefined;
  await landAbsences(session, lake, records, options);
  const rows = records.map((r) => ({
    run_id: r.runId,
    request_id: r.requestId,
    pipeline: r.pipeline,
    dataset: r.dataset,
    endpoint: r.endpoint,
    symbols: r.symbols,
    window_start: r.window?.start,
    window_end: r.window?.end,
    final_end: r.finalEnd,
    asked_at: r.askedAt,
    status: r.status,
    http_status: r.httpStatus,
    attempts: r.attempts,
    rows: r.rows,
    rejected: r.rejected,
    bytes: r.bytes,
    duration_ms: Math.round(r.durationMs),
    absent: r.absent,
    reason: r.reason,
    month: `${new Date(r.askedAt).toISOString().slice(0, 7)}-01`,
  }));
  await using staged = new TempTable(session, "staged_requests");
  await stageObjects(session, staged.name, REQUESTS.columns, rows);
  return (await upsert(session, lake, REQUESTS, staged.name, options)).version;
}

/** Every symbol that was requested of a dataset, and the earliest start of its windows (epoch ms). */
export async function askedSymbols(
  session: Session,
  lake: Lake,
  dataset: string,
): Promise<{ readonly symbol: string; readonly since: number }[]> {
  return session.json(
    `SELECT symbol, epoch_ms(min(window_start))::DOUBLE AS since
     FROM (SELECT unnest(symbols) AS symbol, window_start FROM (${await ledgerSql(session, lake)})
       WHERE dataset = $1 AND window_start IS NOT NULL AND status <> 'lost')
     GROUP BY symbol ORDER BY symbol`,
    [dataset],
  );
}

/**
 * When each symbol (or universe, or exchange) last had a response of an endpoint as a snapshot, in epoch milliseconds;
 * "" is the key for requests that name none. Responses from before a loss in the dataset do not count, nor do responses
 * of which rows were set aside when they landed.
 */
export async function lastResponses(
  session: Session,
  lake: Lake,
  dataset: string,
  endpoint: string,
): Promise<Map<string, number>> {
  const ledger = await ledgerSql(session, lake);
  const rows = await session.json<{ symbol: string; at: number }>(
    `SELECT symbol, max(epoch_ms(asked_at))::DOUBLE AS at
     FROM (SELECT unnest(CASE WHEN len(symbols) = 0 THEN [''] ELSE symbols END) AS symbol, asked_at
       FROM (${ledger})
       WHERE dataset = $1 AND endpoint = $2 AND status IN ('answered', 'empty') AND asked_at >= coalesce(
         (SELECT max(asked_at) FROM (${ledger}) WHERE dataset = $1 AND status = 'lost'), ${instantSql(0)})
         AND (run_id, split_part(request_id, '.', 1)) NOT IN (
           SELECT (run_id, split_part(request_id, '.', 1)) FROM (${ledger})
           WHERE dataset = $1 AND endpoint = $2 AND reason = ${literal(BARS_SET_ASIDE)}))
     GROUP BY symbol`,
    [dataset, endpoint],
  );
  return new Map(rows.map((row) => [row.symbol, row.at]));
}

/** Whether an endpoint ever gave a record of a dataset, even if it was set aside. */
export async function hasDelivered(
  session: Session,
  lake: Lake,
  dataset: string,
  endpoint: string,
): Promise<boolean> {
  const rows = await session.json(
    `SELECT 1 FROM (${await ledgerSql(session, lake)})
     WHERE dataset = $1 AND endpoint = $2 AND http_status = 200 AND (rows > 0 OR rejected > 0) LIMIT 1`,
    [dataset, endpoint],
  );
  return rows.length > 0;
}

/**
 * The times of the responses of an endpoint about symbols (or universes) of which no response ever had a row, by symbol;
 * in epoch milliseconds, ascending.
 */
export async function neverReceived(
  session: Session,
  lake: Lake,
  dataset: string,
  endpoint: string,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const rows = await session.json<{ symbol: string; times: number[] }>(
    `SELECT symbol, list(epoch_ms(asked_at)::DOUBLE ORDER BY asked_at) AS times
     FROM (SELECT unnest(symbols) AS symbol, asked_at, rows FROM (${await ledgerSql(session, lake)})
       WHERE dataset = $1 AND endpoint = $2 AND http_status = 200)
     GROUP BY symbol HAVING max(rows) = 0`,
    [dataset, endpoint],
  );
  return new Map(rows.map(({ symbol, times }) => [symbol, times]));
}

/** The start of the last window of which a response had rows of a dataset, by region; in epoch milliseconds. */
export async function lastReceived(
  session: Session,
  lake: Lake,
  dataset: string,
): Promise<ReadonlyMap<Region, number>> {
  // A request is about symbols of one region.
  const rows = await session.json<{ symbol: string; start: number }>(
    `SELECT symbols[1] AS symbol, epoch_ms(max(window_start))::DOUBLE AS start FROM (${await ledgerSql(session, lake)})
     WHERE dataset = $1 AND window_start IS NOT NULL AND rows > 0 AND len(symbols) > 0 GROUP BY symbols[1]`,
    [dataset],
  );
  const found = new Map<Region, number>();
  for (const { symbol, start } of rows) {
    const region = regionOf(symbol);
    if (region !== undefined) found.set(region, Math.max(start, found.get(region) ?? start));
  }
  return found;
}

/** A response about one symbol (or universe) in the ledger; times in epoch milliseconds. */
export interface LedgerResponse {
  readonly endpoint: string;
  readonly symbol: string;
  /** Undefined for a snapshot. */
  readonly window: TimeRange | undefined;
  readonly askedAt: number;
}

/** The responses of a dataset to requests after a point in time (epoch ms). */
export async function responsesSince(
  session: Session,
  lake: Lake,
  dataset: string,
  since: number,
): Promise<LedgerResponse[]> {
  const rows = await session.json<{
    endpoint: string;
    symbol: string;
    s: number | null;
    e: number;
    at: number;
  }>(
    `SELECT endpoint, unnest(symbols) AS symbol, epoch_ms(window_start)::DOUBLE AS s,
       epoch_ms(window_end)::DOUBLE AS e, epoch_ms(asked_at)::DOUBLE AS at
     FROM (${await ledgerSql(session, lake)})
     WHERE dataset = $1 AND status IN ('answered', 'empty') AND asked_at > ${instantSql("$2")}`,
    [dataset, since],
  );
  return rows.map(({ endpoint, symbol, s, e, at }) => ({
    endpoint,
    symbol,
    window: s === null ? undefined : { start: s, end: e },
    askedAt: at,
  }));
}

/** Number of days (UTC) before that of an instant (epoch ms) on which requests for symbols brought nothing, unexplained; by symbol. */
export async function daysOfNone(
  session: Session,
  lake: Lake,
  dataset: string,
  symbols: readonly string[],
  before: number,
): Promise<ReadonlyMap<string, number>> {
  const reasons: readonly AbsenceReason[] = ["unexplained", "no_bars"];
  const rows = await session.json<{ symbol: string; days: number }>(
    `SELECT symbol, count(DISTINCT epoch_ms(asked_at) // ${DAY_MS})::DOUBLE AS days
     FROM (SELECT unnest(absent) AS symbol, asked_at FROM (${await ledgerSql(session, lake)})
       WHERE dataset = $1 AND reason IN (SELECT unnest(${literalList(reasons)}))
         AND asked_at < ${instantSql(before - (before % DAY_MS))})
     WHERE symbol IN (SELECT unnest(from_json($2, '["VARCHAR"]'))) GROUP BY symbol`,
    [dataset, jsonParameter(symbols)],
  );
  return new Map(rows.map(({ symbol, days }) => [symbol, days]));
}

/** Windows in which symbols were absent for a permanent reason, from any time; by symbol. */
export async function absentBefore(
  session: Session,
  lake: Lake,
  dataset: string,
  symbols: readonly string[],
): Promise<Map<string, TimeRange[]>> {
  const believed: readonly AbsenceReason[] = ["others_came", "not_yet", "ended", "as_before"];
  const rows = await session.json<{ symbol: string; start: number; end: number }>(
    `SELECT symbol, epoch_ms(window_start)::DOUBLE AS start, epoch_ms(window_end)::DOUBLE AS "end"
     FROM (SELECT unnest(absent) AS symbol, * FROM (${await ledgerSql(session, lake)})
       WHERE dataset = $1 AND window_start IS NOT NULL AND status IN ('answered', 'empty')
         AND (reason IN (SELECT unnest(${literalList(believed)})) OR (reason IS NULL AND status = 'answered')))
     WHERE symbol IN (SELECT unnest(from_json($2, '["VARCHAR"]')))`,
    [dataset, jsonParameter(symbols)],
  );
  const found = new Map<string, TimeRange[]>();
  for (const { symbol, ...window } of rows) found.set(symbol, [...(found.get(symbol) ?? []), window]);
  return found;
}
