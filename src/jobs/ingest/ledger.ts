import type { TimeRange } from "../../core/time.js";
import { parquetRelation } from "../../db/parquet-relation.js";
import type { Session } from "../../db/session.js";
import type { Lake } from "../../lake/lake.js";
import { stageRows } from "../../lake/stage-rows.js";
import { type LandOptions, upsert } from "../../lake/upsert.js";
import { REQUESTS, type RequestStatus } from "../../schema/requests.js";

/** One row of the ledger: a request, and what came of it. Times in epoch milliseconds. */
export interface RequestRecord {
  readonly requestId: string;
  readonly dataset: string;
  readonly endpoint: string;
  readonly symbols: readonly string[];
  /** Undefined for a snapshot. */
  readonly window?: TimeRange | undefined;
  /** End of what was final when asked; undefined where nothing of the kind applies. */
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

/** Lands records in the ledger. */
export async function landRequests(
  session: Session,
  lake: Lake,
  pipeline: string,
  records: readonly RequestRecord[],
  options: LandOptions,
): Promise<void> {
  if (records.length === 0) return;
  const rows = records.map((r) => ({
    run_id: options.runId,
    request_id: r.requestId,
    pipeline,
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
  await stageRows(session, "staged_requests", REQUESTS.columns, rows);
  await upsert(session, lake, REQUESTS, "staged_requests", options);
}

/** The windows that were answered with final bars, by symbol. */
export async function coveredWindows(
  session: Session,
  lake: Lake,
  dataset: string,
): Promise<Map<string, TimeRange[]>> {
  const rows = await session.json<{ symbol: string; starts: number[]; ends: number[] }>(
    `SELECT symbol, list(epoch_ms(window_start)::DOUBLE) AS starts, list(epoch_ms(least(window_end, final_end))::DOUBLE) AS ends
     FROM (SELECT unnest(symbols) AS symbol, * EXCLUDE (symbols) FROM (${await ledgerSql(session, lake)})
       WHERE dataset = $1 AND status IN ('answered', 'empty') AND window_start IS NOT NULL)
     GROUP BY symbol`,
    [dataset],
  );
  return new Map(
    rows.map(({ symbol, starts, ends }) => [
      symbol,
      starts
        .map((start, i): TimeRange => ({ start, end: ends[i] as number }))
        .filter((range) => range.end > range.start),
    ]),
  );
}

/** When each symbol (or universe, or exchange) was last answered by an endpoint as a snapshot; epoch milliseconds. */
export async function lastAnswers(
  session: Session,
  lake: Lake,
  dataset: string,
  endpoint: string,
): Promise<Map<string, number>> {
  const rows = await session.json<{ symbol: string; at: number }>(
    `SELECT symbol, max(epoch_ms(asked_at))::DOUBLE AS at
     FROM (SELECT unnest(symbols) AS symbol, asked_at FROM (${await ledgerSql(session, lake)})
       WHERE dataset = $1 AND endpoint = $2 AND status IN ('answered', 'empty'))
     GROUP BY symbol`,
    [dataset, endpoint],
  );
  return new Map(rows.map((row) => [row.symbol, row.at]));
}

async function ledgerSql(session: Session, lake: Lake): Promise<string> {
  return parquetRelation(session, lake.filesOf(await lake.snapshot(REQUESTS)));
}
