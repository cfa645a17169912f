import { DAY_MS, subtractRanges, type TimeRange, unionRanges } from "../../core/time.js";
import { perRegion, regionSql } from "../../db/market/region-sql.js";
import { literalList } from "../../db/quote.js";
import type { Session } from "../../db/session.js";
import { TempTable } from "../../db/temp-table.js";
import type { Lake } from "../../lake/lake.js";
import { stageObjects } from "../../lake/land/stage-objects.js";
import { type LandOptions, upsert } from "../../lake/land/upsert.js";
import type { Region } from "../../market/regions.js";
import { type AbsenceReason, REVISIT_DAYS } from "../../plan/absence/absence.js";
import { REQUESTS, type RequestStatus } from "../../schema/requests.js";
import { type Hole, readHoles, withoutHoles } from "./ledger-holes.js";
import { ledgerSql } from "./ledger-sql.js";

/** One row of the ledger: a request and its result. Times in epoch milliseconds. */
export interface RequestRecord {
  readonly runId: string;
  readonly pipeline: string;
  readonly requestId: string;
  readonly dataset: string;
  readonly endpoint: string;
  readonly symbols: readonly string[];
  /** Undefined for a snapshot. */
  readonly window?: TimeRange | undefined;
  /** End of the final bars at the time of the request; undefined where this does not apply. */
  readonly finalEnd?: number | undefined;
  readonly askedAt: number;
  readonly status: RequestStatus;
  readonly httpStatus?: number | undefined;
  readonly attempts: number;
  readonly rows: number;
  readonly rejected: number;
  readonly bytes: number;
  readonly durationMs: number;
  readonly absent: readonly string[];
  readonly reason?: string | undefined;
}

/** Lands records in the ledger. @returns the ledger version with them; undefined where there are none. */
export async function landRequests(
  session: Session,
  lake: Lake,
  records: readonly RequestRecord[],
  options: LandOptions,
): Promise<number | undefined> {
  if (records.length === 0) return undefined;
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

/** The newest version of the ledger. */
export async function ledgerVersion(lake: Lake): Promise<number> {
  return (await lake.snapshot(REQUESTS)).version;
}

/** Rules for what counts as covered by earlier requests. */
export interface CoverageRules {
  /** Epoch milliseconds. */
  readonly now: number;
  /** Days after which an empty window is requested again. @default 30 */
  readonly revisitDays?: number | undefined;
  /**
   * Requests sent before `askedBefore` do not cover the time from `since` on; epoch milliseconds. @default all
   * requests count
   */
  readonly recheck?:
    | { readonly since: Readonly<Record<Region, number>>; readonly askedBefore: number }
    | undefined;
  /**
   * Which empty windows without a certain explanation do not count: those that are due to be requested again, or all.
   * @default due
   */
  readonly holes?: "due" | "all" | undefined;
}

/**
 * The windows with a response of final bars, by symbol; sorted and disjoint. A window without a bar of the symbol
 * counts only for some time: the service may have bars later.
 */
export async function coveredWindows(
  session: Session,
  lake: Lake,
  dataset: string,
  { now, revisitDays = REVISIT_DAYS, recheck, holes = "due" }: CoverageRules,
): Promise<Map<string, TimeRange[]>> {
  const since = perRegion(regionSql("symbol"), ({ region }) =>
    instantSql(String(recheck?.since[region] ?? 0)),
  );
  const ledger = await ledgerSql(session, lake);
  const counting = `WITH windows AS (
       SELECT unnest(symbols) AS symbol, window_start AS s, absent, asked_at, least(window_end, final_end) AS final
       FROM (${ledger})
       WHERE dataset = $1 AND status IN ('answered', 'empty') AND window_start IS NOT NULL),
     counting AS (
       SELECT symbol, asked_at, s, least(final, CASE WHEN asked_at < ${instantSql("$3")} THEN ${since} END) AS e FROM windows
       WHERE e > s AND (asked_at >= ${instantSql("$2")}
         OR NOT list_contains(absent, symbol)))`;
  const values = [dataset, now - revisitDays * DAY_MS, recheck?.askedBefore ?? 0];
  const rows = await session.json<{ symbol: string; starts: number[]; ends: number[] }>(
    `${counting},
     islands AS (
       SELECT *, s > max(e) OVER (PARTITION BY symbol ORDER BY s, e ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS begins
       FROM counting),
     numbered AS (
       SELECT *, count(*) FILTER (begins) OVER (PARTITION BY symbol ORDER BY s, e ROWS UNBOUNDED PRECEDING) AS island
       FROM islands),
     joined AS (SELECT symbol, min(s) AS s, max(e) AS e FROM numbered GROUP BY symbol, island)
     SELECT symbol, list(epoch_ms(s)::DOUBLE ORDER BY s) AS starts, list(epoch_ms(e)::DOUBLE ORDER BY s) AS ends
     FROM joined GROUP BY symbol`,
    values,
  );
  const covered = new Map(
    rows.map(({ symbol, starts, ends }) => [
      symbol,
      starts.map((start, i): TimeRange => ({ start, end: ends[i] as number })),
    ]),
  );
  // For symbols with a loss, the ranges that were lost after a request are subtracted from its window.
  const left = await session.json<{ symbol: string; s: number; e: number; starts: number[]; ends: number[] }>(
    `${counting},
     lost AS (
       SELECT unnest(symbols) AS symbol, window_start AS s, window_end AS e, asked_at AS lost_at FROM (${ledger})
       WHERE dataset = $1 AND status = 'lost' AND window_start IS NOT NULL)
     SELECT c.symbol, epoch_ms(c.s)::DOUBLE AS s, epoch_ms(c.e)::DOUBLE AS e,
       coalesce(list(epoch_ms(l.s)::DOUBLE) FILTER (l.lost_at > c.asked_at), []) AS starts,
       coalesce(list(epoch_ms(l.e)::DOUBLE) FILTER (l.lost_at > c.asked_at), []) AS ends
     FROM counting c JOIN lost l ON l.symbol = c.symbol GROUP BY c.symbol, c.s, c.e, c.asked_at`,
    values,
  );
  for (const { symbol } of left) covered.set(symbol, []);
  for (const { symbol, s: start, e: end, starts, ends } of left) {
    const lost = starts.map((first, i): TimeRange => ({ start: first, end: ends[i] as number }));
    covered.get(symbol)?.push(...subtractRanges({ start, end }, lost));
  }
  for (const { symbol } of left) covered.set(symbol, unionRanges(covered.get(symbol) ?? []));
  const isOpen = ({ dueAt }: Hole): boolean => holes === "all" || dueAt <= now;
  return withoutHoles(covered, await readHoles(session, lake, dataset), isOpen);
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

/** The instant of a parameter, or a number, in epoch milliseconds. */
function instantSql(parameter: string): string {
  return `make_timestamptz((${parameter} * 1000)::BIGINT)`;
}

/**
 * When each symbol (or universe, or exchange) last had a response of an endpoint as a snapshot, in epoch milliseconds;
 * "" is for the requests that name none. Responses from before a loss in the dataset do not count.
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
         (SELECT max(asked_at) FROM (${ledger}) WHERE dataset = $1 AND status = 'lost'), ${instantSql("0")}))
     GROUP BY symbol`,
    [dataset, endpoint],
  );
  return new Map(rows.map((row) => [row.symbol, row.at]));
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
    [dataset, JSON.stringify(symbols)],
  );
  const found = new Map<string, TimeRange[]>();
  for (const { symbol, ...window } of rows) found.set(symbol, [...(found.get(symbol) ?? []), window]);
  return found;
}
