import { barScan } from "../arrow/scan/bar-scan.js";
import { finalEnd } from "../calendar/sessions.js";
import type { ServiceClient } from "../client/service-client.js";
import { messageOf, ServiceError } from "../core/errors.js";
import type { LandedPeriod } from "../core/period.js";
import type { Clock, TimeRange } from "../core/time.js";
import { ident, literal } from "../db/quote.js";
import type { Session } from "../db/session.js";
import { ROW_GROUP_ROWS } from "../lake/data-file.js";
import type { Lake } from "../lake/lake.js";
import { openReader } from "../lake/publish.js";
import { planBars } from "../plan/bar-partitions.js";
import { BARS_1D, BARS_1M, KLINE_COLUMNS } from "../schema/bars.js";
import type { TableSchema } from "../schema/column.js";
import { decodeKlines, type KlineAnswer } from "../wire/decode/decode-klines.js";
import { ENDPOINTS } from "../wire/endpoints.js";
import { klinesQuery } from "./ingest/klines-request.js";
import { isServiceFault } from "./ingest/request-records.js";

/** How much is asked for again: a part of what was answered, or so many requests. */
export type SampleSize = { readonly part: number } | { readonly requests: number };

/** Bars of which the service tells otherwise than the lake. */
export type Deviation = "changed" | "gone" | "new";

/** A bar of which the service tells otherwise now. */
export interface DeviatingBar {
  readonly table: string;
  readonly symbol: string;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  /** `changed`: both have it; `gone`: only the lake; `new`: only the service. */
  readonly kind: Deviation;
  /** Columns that differ, with what the lake has and what the service tells. */
  readonly values: readonly { readonly column: string; readonly lake: string; readonly service: string }[];
}

/** What came of asking again for a random sample of what a table's bars were asked for. */
export interface TableSample {
  readonly table: string;
  /** Requests in the ledger that were answered. */
  readonly answered: number;
  readonly asked: number;
  /** Bars that the lake or the service has in the sampled windows. */
  readonly bars: number;
  readonly counts: Readonly<Record<Deviation, number>>;
}

export interface SampleReport {
  readonly tables: readonly TableSample[];
  /** The first of each request's. */
  readonly deviations: readonly DeviatingBar[];
  readonly failures: readonly string[];
}

export interface SampleEnvironment {
  readonly lake: Lake;
  readonly client: ServiceClient;
  readonly clock: Pick<Clock, "now">;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: { done: number; total: number; rows: number; doing: string }) => void;
}

/** Deviating bars of a request that are reported one by one. */
const SHOWN_A_REQUEST = 20;
const PERIODS: readonly (readonly [LandedPeriod, TableSchema])[] = [
  ["1d", BARS_1D],
  ["1m", BARS_1M],
];

/** A request of the ledger. */
interface SampledRequest {
  readonly period: LandedPeriod;
  readonly table: TableSchema;
  readonly symbols: readonly string[];
  readonly window: TimeRange;
}

/**
 * Asks a service again for a random sample of the final bars that it was asked for before, and compares the answers with
 * the lake: a service that corrects its past does not tell of it. Changes nothing.
 */
export async function checkSample(environment: SampleEnvironment, size: SampleSize): Promise<SampleReport> {
  const { session: reader } = await openReader(environment.lake);
  using session = reader;
  const tables: TableSample[] = [];
  const deviations: DeviatingBar[] = [];
  const failures: string[] = [];
  const samples: { readonly requests: SampledRequest[]; readonly sample: TableSample }[] = [];
  for (const [period, table] of PERIODS) samples.push(await drawSample(session, period, table, size));
  const total = samples.reduce((sum, { requests }) => sum + requests.length, 0);
  let [done, rows, isRefused] = [0, 0, false];
  for (const { requests, sample } of samples) {
    const counts = { changed: 0, gone: 0, new: 0 };
    let [asked, bars] = [0, 0];
    for (const request of requests) {
      if (environment.signal.aborted || isRefused) break;
      environment.onProgress?.({ done, total, rows, doing: `${sample.table} again` });
      try {
        asked += 1;
        const compared = await compareRequest(session, environment, request);
        bars += compared.bars;
        for (const kind of ["changed", "gone", "new"] as const) counts[kind] += compared.counts[kind];
        deviations.push(...compared.deviations);
      } catch (error) {
        if (environment.signal.aborted || !isServiceFault(error)) throw error;
        failures.push(messageOf(error));
        isRefused = error instanceof ServiceError && [401, 403].includes(error.status);
      }
      done += 1;
      rows += bars;
    }
    tables.push({ ...sample, asked, bars, counts });
  }
  return { tables, deviations, failures };
}

async function drawSample(
  session: Session,
  period: LandedPeriod,
  table: TableSchema,
  size: SampleSize,
): Promise<{ requests: SampledRequest[]; sample: TableSample }> {
  const { path, method } = ENDPOINTS.klinesBatch;
  const requests = `SELECT symbols, epoch_ms(window_start)::DOUBLE AS first, epoch_ms(least(window_end, final_end))::DOUBLE AS last
    FROM raw.requests WHERE dataset = $1 AND endpoint = $2 AND status = 'answered' AND window_start < final_end`;
  const bound = [table.name, `${method} ${path}`];
  const [found] = await session.json<{ n: number }>(`SELECT count(*)::DOUBLE AS n FROM (${requests})`, bound);
  const answered = found?.n ?? 0;
  const wanted = "requests" in size ? size.requests : Math.ceil(answered * size.part);
  const rows = await session.json<{ symbols: string[]; first: number; last: number }>(
    `${requests} ORDER BY random() LIMIT $3`,
    [...bound, wanted],
  );
  return {
    requests: rows.map(({ symbols, first, last }) => ({
      period,
      table,
      symbols,
      window: { start: first, end: last },
    })),
    sample: { table: table.name, answered, asked: 0, bars: 0, counts: { changed: 0, gone: 0, new: 0 } },
  };
}

interface Comparison {
  readonly bars: number;
  readonly counts: Record<Deviation, number>;
  readonly deviations: readonly DeviatingBar[];
}

async function compareRequest(
  session: Session,
  { client, clock, signal }: SampleEnvironment,
  request: SampledRequest,
): Promise<Comparison> {
  const { period, symbols, window } = request;
  const expectation = {
    shape: "map",
    symbols,
    window: { first: window.start, last: window.end - 1 },
  } as const;
  const { value: answer } = await client.ask(
    { endpoint: ENDPOINTS.klinesBatch, query: klinesQuery(symbols, window, period) },
    (body) => decodeKlines(body, expectation),
    signal,
  );
  return compareAnswer(session, request, answer, clock.now());
}

/** Compares by key, of the bars that the lake would land; where the answer's columns were unusable, nothing of a symbol. */
async function compareAnswer(
  session: Session,
  { table, symbols, window }: SampledRequest,
  answer: KlineAnswer,
  now: number,
): Promise<Comparison> {
  const unit = table.partition.includes("month") ? "month" : "year";
  const ends = { CN: finalEnd("CN", now), HK: finalEnd("HK", now), US: finalEnd("US", now) };
  const bars = [{ columns: answer.columns, source: "sample" }];
  const { partitions } = planBars(bars, { unit, finalEnd: ends });
  const scan = session.scan(
    barScan(
      partitions.flatMap(({ segments }) => segments),
      ROW_GROUP_ROWS,
    ),
  );
  const usable = symbols.filter((symbol) => !answer.unusable.includes(symbol));
  const columns = KLINE_COLUMNS.map(({ name }) => ({
    name: literal(name),
    lake: `lake.${ident(name)}`,
    told: `told.${ident(name)}`,
  }));
  const differs = columns.map(({ lake, told }) => `${lake} IS DISTINCT FROM ${told}`).join(" OR ");
  const values = columns.map(
    ({ name, lake, told }) => `CASE WHEN ${lake} IS DISTINCT FROM ${told} THEN
      {'column': ${name}, 'lake': coalesce(${lake}::VARCHAR, 'null'), 'service': coalesce(${told}::VARCHAR, 'null')} END`,
  );
  try {
    await session.run(
      `CREATE OR REPLACE TEMP TABLE sampled AS
       SELECT symbol, timestamp,
         CASE WHEN lake.close IS NULL THEN 'new' WHEN told.close IS NULL THEN 'gone' WHEN ${differs} THEN 'changed' END AS kind,
         CASE WHEN lake.close IS NOT NULL AND told.close IS NOT NULL
           THEN list_filter([${values.join(", ")}], lambda one: one IS NOT NULL) ELSE [] END AS "values"
       FROM (FROM raw.${ident(table.name)} WHERE symbol IN (SELECT unnest(from_json($1, '["VARCHAR"]')))
           AND timestamp >= make_timestamptz($2::BIGINT * 1000) AND timestamp < make_timestamptz($3::BIGINT * 1000)) AS lake
         FULL JOIN ${scan.sql} AS told USING (symbol, timestamp)`,
      [JSON.stringify(usable), window.start, window.end],
    );
  } finally {
    scan.release();
  }
  const [counted] = await session.json<{ bars: number } & Record<Deviation, number>>(
    `SELECT count(*)::DOUBLE AS bars, count(*) FILTER (kind = 'changed')::DOUBLE AS changed,
       count(*) FILTER (kind = 'gone')::DOUBLE AS gone, count(*) FILTER (kind = 'new')::DOUBLE AS new FROM sampled`,
  );
  const { bars: compared = 0, ...counts } = counted ?? { changed: 0, gone: 0, new: 0 };
  const shown = await session.json<Omit<DeviatingBar, "table">>(
    `SELECT symbol, strftime(timestamp, '%Y-%m-%dT%H:%M:%S.%gZ') AS timestamp, kind, "values"
     FROM sampled WHERE kind IS NOT NULL ORDER BY symbol, sampled.timestamp LIMIT ${SHOWN_A_REQUEST}`,
  );
  return { bars: compared, counts, deviations: shown.map((one) => ({ table: table.name, ...one })) };
}
