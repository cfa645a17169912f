import { DAY_MS, type TimeRange } from "../../core/time.js";
import { localMidnightSql } from "../../db/market/region-sql.js";
import { literal, literalList } from "../../db/quote.js";
import { jsonParameter } from "../../db/session/named-values.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import { type AbsentDays, landAbsentDays } from "../../lake/land/absent-days.js";
import { stageObjects } from "../../lake/land/clear-values.js";
import { type LandOptions, upsert } from "../../lake/land/upsert.js";
import { commitWithRetries, retryOnConflict } from "../../lake/log/commit.js";
import { commitInfoAction, schemaActions } from "../../lake/log/commit-actions.js";
import type { Snapshot } from "../../lake/log/snapshot.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { localDay } from "../../market/zone.js";
import { FORMER_REASONS, reasonsThat } from "../../plan/absence/absence.js";
import { ABSENCES_1D, BARS_1D, TRADING_DAYS } from "../../schema/bars.js";
import { INSTRUMENTS } from "../../schema/reference.js";
import { type AbsenceReason, REQUESTS, type RequestStatus } from "../../schema/runs.js";

/** The reasons of the ledger, under the names of this version. */
const REASON_SQL = `CASE reason ${Object.entries(FORMER_REASONS)
  .map(([former, now]) => `WHEN ${literal(former)} THEN ${literal(now)}`)
  .join(" ")} ELSE reason END AS reason`;

/** The query of all rows of the ledger. @param version the version to read. @default the newest */
export async function ledgerSql(session: Session, lake: Lake, version?: Snapshot): Promise<string> {
  const files = lake.filesOf(version ?? (await lake.snapshot(REQUESTS)));
  return `SELECT * REPLACE (${REASON_SQL}) FROM (${await parquetRelation(session, files)})`;
}

export async function ledgerVersion(lake: Lake): Promise<number> {
  return (await lake.snapshot(REQUESTS)).version;
}

/** SQL of an instant. @param epochMs epoch milliseconds: a number, or the name of a parameter. */
export function instantSql(epochMs: string | number): string {
  return `make_timestamptz((${epochMs} * 1000)::BIGINT)`;
}

/** The record, in the log of the absences, that those of an earlier version's ledger have landed. */
const EARLIER = "barlake/absences-of-the-ledger";

/** Reasons with which a response vouches for it that a symbol did not trade. */
const VOUCHING: readonly string[] = reasonsThat(({ vouches }) => vouches);

function shownBy(record: RequestRecord): AbsentDays[] {
  const { dataset, status, reason = "", symbols, absent, window, finalEnd, empty } = record;
  if (dataset !== BARS_1D.name || window === undefined || (status !== "answered" && status !== "empty"))
    return [];
  const shown: AbsentDays[] = [];
  if (empty !== undefined) {
    const without = new Set(absent);
    for (const symbol of symbols)
      if (!without.has(symbol)) shown.push({ ...daysOf(symbol, window, finalEnd), hasNone: false });
    for (const one of empty) shown.push({ ...daysOf(one.symbol, one.window, finalEnd), hasNone: true });
  }
  const hasNone = VOUCHING.includes(reason);
  if (!hasNone && reason !== "set_aside") return shown;
  return [...shown, ...absent.map((symbol) => ({ ...daysOf(symbol, window, finalEnd), hasNone }))];
}

/** The days of a symbol whose bars, labelled with local midnight, lie in a window, up to the end of what was final. */
function daysOf(symbol: string, { start, end }: TimeRange, finalEnd = Number.POSITIVE_INFINITY) {
  const region = regionOf(symbol);
  if (region === undefined) return { symbol, first: 0, end: 0 };
  const { zone } = REGIONS[region];
  // The first day whose midnight is not before an instant.
  const dayFrom = (at: number): number => localDay(at - 1, zone) + 1;
  return { symbol, first: dayFrom(start), end: dayFrom(Math.min(end, finalEnd)) };
}

/**
 * Lands the absences that a ledger of an earlier version shows, which landed none: windows without a bar of a symbol,
 * and sessions since its listing between two of its bars in a window that was answered. Of a time whose bars were lost since,
 * nothing is known. It does so once: the table's log records it, unless a restore undoes that.
 */
export async function landEarlierAbsences(session: Session, lake: Lake, options: LandOptions): Promise<void> {
  const [absences, ledger, bars, tradingDays, instruments] = [
    await lake.snapshot(ABSENCES_1D),
    await lake.snapshot(REQUESTS),
    await lake.snapshot(BARS_1D),
    await lake.snapshot(TRADING_DAYS),
    await lake.snapshot(INSTRUMENTS),
  ];
  if (absences.txns.has(EARLIER) || ledger.version < 0 || bars.version < 0) return;
  const of = (snapshot: Snapshot): Promise<string> => parquetRelation(session, lake.filesOf(snapshot));
  await using windows = new TempTable(session, "earlier_windows");
  await windows.fill(
    `SELECT symbols, absent, reason, status, asked_at, epoch_ms(window_start)::DOUBLE AS s, epoch_ms(least(window_end, final_end))::DOUBLE AS e
     FROM (${await ledgerSql(session, lake, ledger)})
     WHERE dataset = ${literal(BARS_1D.name)} AND status IN ('answered', 'empty', 'lost')
       AND window_start < least(window_end, final_end)`,
  );
  const absent = await session.json<{ symbol: string; s: number; e: number; at: number; has_none: boolean }>(
    `SELECT symbol, s, e, epoch_ms(asked_at)::DOUBLE AS at, has_none FROM (
       SELECT unnest(absent) AS symbol, s, e, asked_at, list_contains(${literalList(VOUCHING)}, reason) AS has_none FROM ${windows.name}
       WHERE list_contains(${literalList([...VOUCHING, "set_aside"])}, reason) AND status <> 'lost'
       UNION ALL
       SELECT unnest(symbols), s, e, asked_at, false FROM ${windows.name} WHERE status = 'lost')`,
  );
  const between = await session.json<{ symbol: string; day: number; at: number }>(
    `WITH sessions AS (SELECT region, trade_date FROM (${await of(tradingDays)})),
     bars AS (SELECT symbol, region, trade_date FROM (${await of(bars)})),
     -- The number of a day is that of the sessions until then: no bar is compared with each session.
     days AS MATERIALIZED (
       SELECT region, trade_date, max(is_session) AS is_session,
         sum(max(is_session)) OVER (PARTITION BY region ORDER BY trade_date) AS number
       FROM (SELECT region, trade_date, 1 AS is_session FROM sessions
         UNION ALL SELECT DISTINCT region, trade_date, 0 FROM bars)
       GROUP BY region, trade_date),
     gaps AS (
       SELECT b.symbol, d.trade_date, ${localMidnightSql("d.trade_date", "d.region")} AS midnight
       FROM (
         SELECT symbol, region, unnest(range((last_number + 1)::BIGINT, (number - is_session + 1)::BIGINT)) AS number
         FROM (SELECT symbol, region, number, is_session, lag(number) OVER (PARTITION BY symbol ORDER BY trade_date) AS last_number
           FROM bars JOIN days USING (region, trade_date) QUALIFY number - is_session > last_number)) AS b
       JOIN days AS d ON d.region = b.region AND d.number = b.number AND d.is_session = 1
       ANTI JOIN (SELECT symbol, listing_date FROM (${await of(instruments)}) WHERE valid_to IS NULL) AS i
         ON i.symbol = b.symbol AND i.listing_date > d.trade_date)
     SELECT g.symbol, CAST(g.trade_date - DATE '1970-01-01' AS INTEGER) AS day, epoch_ms(max(asked_at))::DOUBLE AS at
     FROM gaps AS g
     JOIN (SELECT unnest(symbols) AS symbol, * FROM ${windows.name} WHERE status <> 'lost' AND e - s > ${DAY_MS}) AS w
       ON w.symbol = g.symbol AND w.s <= g.midnight AND w.e > g.midnight AND NOT list_contains(w.absent, w.symbol)
     GROUP BY g.symbol, g.trade_date`,
  );
  const shown = [
    ...absent.map(({ symbol, s, e, at, has_none }) => ({
      at,
      ...daysOf(symbol, { start: s, end: e }),
      hasNone: has_none,
    })),
    ...between.map(({ symbol, day, at }) => ({
      at,
      symbol,
      first: day,
      end: day + 1,
      hasNone: true,
    })),
  ];
  // What a response did not vouch for counts more than the rest of the response.
  shown.sort((a, b) => a.at - b.at || Number(b.hasNone) - Number(a.hasNone));
  await landAbsentDays(session, lake, shown, options);
  await recordAbsencesLand(lake, options);
}

/** Records that all absences of the ledger have landed, in a table that may not exist yet. A second time it does nothing. */
export async function recordAbsencesLand(lake: Lake, options: LandOptions): Promise<void> {
  if ((await lake.snapshot(ABSENCES_1D)).txns.has(EARLIER)) return;
  await retryOnConflict(lake, ABSENCES_1D, (base) =>
    commitWithRetries(lake, base, {
      actions: [
        commitInfoAction(options, {}),
        ...(base.version < 0 ? schemaActions(base, base.columns, options.now) : []),
        // Without a time of its last change, a record remains in all checkpoints.
        { txn: { appId: EARLIER, version: 1 } },
      ],
      stillHolds: (newest) => base.version >= 0 || newest.version < 0,
      now: options.now,
      fence: options.fence,
    }),
  );
}

/**
 * The reason of a failed request without a window, of whose response rows were set aside; its text may contain other
 * reasons, too. The record names the symbols that are requested again. A record with `set_aside` names a window of
 * an answered request instead; because of it, {@link lastResponses} leaves out all symbols of that request.
 */
export const ROWS_SET_ASIDE = "rows were set aside";

/** One row of the ledger: a request and its result. Times are in epoch milliseconds. */
export interface RequestRecord {
  readonly dataset: string;
  readonly status: RequestStatus;
  /** Undefined for a snapshot. */
  readonly window?: TimeRange | undefined;
  /** End of the final bars at the time of the request (epoch ms); undefined for data that does not become final. */
  readonly finalEnd?: number | undefined;
  readonly symbols: readonly string[];
  readonly absent: readonly string[];
  readonly reason?: string | undefined;
  /**
   * Of a response of daily bars: the stretches of the window without a bar of the symbols that have some in it. They land
   * as absences; of these symbols nothing else is absent in the window.
   */
  readonly empty?: readonly { readonly symbol: string; readonly window: TimeRange }[] | undefined;
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
  // Days without bars land first: a run that is killed in between requests them again.
  await landAbsentDays(session, lake, records.flatMap(shownBy), options);
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
           WHERE dataset = $1 AND endpoint = $2 AND reason = 'set_aside'))
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
interface LedgerResponse {
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
  const reasons: readonly AbsenceReason[] = ["unexplained", "unavailable"];
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
  const believed = reasonsThat(({ lasts }) => lasts === "settled");
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
