import type { ServiceClient } from "../../client/service-client.js";
import { messageOf, ServiceError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import type { Lake } from "../../lake/lake.js";
import { openReader } from "../../lake/open-reader.js";
import type { LandedPeriod } from "../../market/period.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { ENDPOINTS } from "../../wire/endpoints.js";
import { isServiceFault } from "../run/request/request-records.js";
import { type AskedWindow, askWindowAgain } from "./ask-window-again.js";
import { compareWindow, oldestInLake } from "./compare-window.js";

/** Size of the sample: a fraction of the requests in the ledger, or a number of requests. */
export type SampleSize = { readonly part: number } | { readonly requests: number };

/** How a bar of the service differs from the lake's. */
export type Deviation = "changed" | "gone" | "new";

/** A bar that differs between the service and the lake. */
export interface DeviatingBar {
  readonly table: string;
  readonly symbol: string;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  /** `changed`: both have it; `gone`: only the lake; `new`: only the service. */
  readonly kind: Deviation;
  /** Columns that differ, with their values in the lake and at the service. */
  readonly values: readonly { readonly column: string; readonly lake: string; readonly service: string }[];
}

/** The result of requesting a random sample of a table's bars again. */
export interface TableSample {
  readonly table: string;
  /** Number of requests in the ledger that have a response. */
  readonly answered: number;
  readonly asked: number;
  /** Bars that the lake or the service has in the sampled windows. */
  readonly bars: number;
  readonly counts: Readonly<Record<Deviation, number>>;
}

export interface SampleReport {
  readonly tables: readonly TableSample[];
  /** The first deviating bars of each request. */
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

/** Most deviating bars that are reported individually for each request. */
const SHOWN_A_REQUEST = 20;
const PERIODS: readonly (readonly [LandedPeriod, TableSchema])[] = [
  ["1d", BARS_1D],
  ["1m", BARS_1M],
];

/** A request of the ledger. */
interface SampledRequest extends AskedWindow {
  readonly table: TableSchema;
}

/**
 * Requests a random sample of the final bars of earlier requests again, and compares the responses with the lake,
 * because a service does not report corrections of past bars. It changes nothing.
 */
export async function checkSample(environment: SampleEnvironment, size: SampleSize): Promise<SampleReport> {
  const { session: reader } = await openReader(environment.lake);
  using session = reader;
  const tables: TableSample[] = [];
  const deviations: DeviatingBar[] = [];
  const failures: string[] = [];
  // The bars that have been compared so far.
  await using seen = new TempTable(session, "seen_bars");
  await seen.define('"table" VARCHAR, symbol VARCHAR, timestamp TIMESTAMPTZ');
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
        const compared = await compareRequest(session, seen, environment, request);
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
    FROM raw.requests WHERE dataset = $1 AND endpoint = $2 AND status = 'answered' AND len(symbols) > 0 AND window_start < final_end`;
  const bound = [table.name, `${method} ${path}`];
  const [found] = await session.json<{ n: number }>(`SELECT count(*)::DOUBLE AS n FROM (${requests})`, bound);
  const answered = found?.n ?? 0;
  const sampleSize = "requests" in size ? size.requests : Math.ceil(answered * size.part);
  const rows = await session.json<{ symbols: string[]; first: number; last: number }>(
    `${requests} ORDER BY random() LIMIT $3`,
    [...bound, sampleSize],
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
  seen: TempTable,
  { client, clock, signal }: SampleEnvironment,
  request: SampledRequest,
): Promise<Comparison> {
  const { table } = request;
  const known = await oldestInLake(session, table, request);
  const whole = await askWindowAgain(client, request, known, signal);
  await using sampled = new TempTable(session, "sampled_bars");
  await compareWindow(session, sampled, table, request, whole, clock.now());
  // Requests overlap, mostly those of a lookback. A bar is counted only once.
  const key = `"table" = ${literal(table.name)} AND seen.symbol = ${sampled.name}.symbol AND seen.timestamp = ${sampled.name}.timestamp`;
  await session.run(`DELETE FROM ${sampled.name} WHERE EXISTS (FROM ${seen.name} seen WHERE ${key})`);
  await session.run(
    `INSERT INTO ${seen.name} SELECT ${literal(table.name)}, symbol, timestamp FROM ${sampled.name}`,
  );
  const [counted] = await session.json<{ bars: number } & Record<Deviation, number>>(
    `SELECT count(*)::DOUBLE AS bars, count(*) FILTER (kind = 'changed')::DOUBLE AS changed,
       count(*) FILTER (kind = 'gone')::DOUBLE AS gone, count(*) FILTER (kind = 'new')::DOUBLE AS new FROM ${sampled.name}`,
  );
  const { bars: compared = 0, ...counts } = counted ?? { changed: 0, gone: 0, new: 0 };
  const shown = await session.json<Omit<DeviatingBar, "table">>(
    `SELECT symbol, strftime(timestamp, '%Y-%m-%dT%H:%M:%S.%gZ') AS timestamp, kind, "values"
     FROM ${sampled.name} WHERE kind IS NOT NULL ORDER BY symbol, ${sampled.name}.timestamp LIMIT ${SHOWN_A_REQUEST}`,
  );
  return { bars: compared, counts, deviations: shown.map((one) => ({ table: table.name, ...one })) };
}
