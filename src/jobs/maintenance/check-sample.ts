import { barScan } from "../../arrow/scan/bar-scan.js";
import type { ServiceClient } from "../../client/service-client.js";
import { messageOf, ServiceError, WireError } from "../../core/errors.js";
import { freedAfterUse } from "../../core/memory-pool.js";
import type { Clock, TimeRange } from "../../core/time.js";
import { ident, literal } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import { jsonParameter } from "../../db/session/named-values.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { ROW_GROUP_ROWS } from "../../lake/files/parquet/write-rows.js";
import type { Lake } from "../../lake/lake.js";
import { isMinutes } from "../../lake/land/land-bars.js";
import { isLoss } from "../../lake/land/rejects.js";
import { openReader } from "../../lake/open-reader.js";
import type { LandedPeriod } from "../../market/period.js";
import { finalEnds, possibleEnds } from "../../market/sessions.js";
import { judgeAbsence } from "../../plan/absence/absence.js";
import { symbolSpans } from "../../plan/absence/window-beginning.js";
import { partitionBars } from "../../plan/bar-partitions.js";
import { statedValues } from "../../plan/stated-values.js";
import { BARS_1D, BARS_1M, KLINE_COLUMNS } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { type DecodedKlines, decodeKlines } from "../../wire/decode/decode-klines.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import { klinesQuery } from "../ingest/bars/kline-requester.js";
import { isServiceFault } from "../run/request/request-records.js";

export interface AskedWindow {
  readonly period: LandedPeriod;
  readonly symbols: readonly string[];
  readonly window: TimeRange;
  /**
   * Another symbol, which should have bars in the window. If its bars are received, the absence of the requested
   * symbols counts. @default none
   */
  readonly control?: string | undefined;
}

/** All bars in a window that a service has now. */
interface WholeWindow {
  readonly responses: readonly DecodedKlines[];
  /** Symbols with unusable columns in a response: nothing is known about their bars. */
  readonly unusable: ReadonlySet<string>;
}

/**
 * Most requests for a symbol that a response lacks, or that a response contains without a bar of an earlier response.
 */
const MOST_TRIES = 2;

/**
 * Requests everything that a service has of a window, as an ingest does. If the lake has older bars than those
 * received, the response may be cut, and the older bars are requested. An absent symbol is requested a second time. Its
 * absence is judged as in an ingest: a response without any bar of a requested symbol shows nothing.
 *
 * @param oldestKnown the oldest bar of each symbol in the window that the lake has; epoch milliseconds.
 * @throws {ServiceError}, {@link TransportError} or {@link WireError} where a request fails, or where responses are not
 *   about the window, or do not show whether a symbol has bars.
 */
async function askWindowAgain(
  client: ServiceClient,
  { period, symbols, window, control }: AskedWindow,
  oldestKnown: ReadonlyMap<string, number>,
  signal: AbortSignal,
): Promise<WholeWindow> {
  const responses: DecodedKlines[] = [];
  const unusable = new Set<string>();
  /** Symbols with bars in a response, or with an absence that counts. */
  const shown = new Set<string>();
  const tries = new Map<string, number>();
  const pages: Pick<AskedWindow, "symbols" | "window">[] = [{ symbols, window }];
  for (let page = pages.shift(); page !== undefined; page = pages.shift()) {
    const { symbols: own, window: part } = page;
    const named = control === undefined || own.length >= LIMITS.symbolsPerRequest ? own : [...own, control];
    const expectation = {
      shape: "map",
      symbols: named,
      window: { first: part.start, last: part.end - 1 },
    } as const;
    const { value: response } = await client.ask(
      { endpoint: ENDPOINTS.klinesBatch, query: klinesQuery(named, part, period) },
      (body) => decodeKlines(freedAfterUse(body), expectation),
      signal,
    );
    responses.push(response);
    for (const symbol of response.unusable) unusable.add(symbol);
    const came = new Map(
      symbolSpans(response.columns).map(({ symbol, start, end }) => {
        const [oldest, newest] = [response.columns.timestamp[start], response.columns.timestamp[end - 1]];
        return [symbol, { oldest: Number(oldest), newest: Number(newest) }] as const;
      }),
    );
    for (const symbol of shownBy(response)) shown.add(symbol);
    const next = new Map<number, string[]>();
    const ask = (symbol: string, end: number): unknown => next.set(end, [...(next.get(end) ?? []), symbol]);
    for (const symbol of own) {
      const known = oldestKnown.get(symbol);
      if (known === undefined || unusable.has(symbol)) continue;
      const bars = came.get(symbol);
      const isPage = part.end < window.end;
      // A page must end with the bar that was received before it. Otherwise the response does not show the symbol's
      // bars.
      if (bars === undefined || !shown.has(symbol) || (isPage && bars.newest < part.end - 1)) {
        const made = (tries.get(symbol) ?? 0) + 1;
        tries.set(symbol, made);
        if (made < MOST_TRIES) ask(symbol, part.end);
        else if (isPage)
          throw new WireError("wrong_shape", `${symbol}: responses lack a bar that came before`, 0);
      } else if (bars.oldest > known && (!isPage || bars.oldest < part.end - 1)) ask(symbol, bars.oldest + 1);
    }
    for (const [end, some] of next) pages.push({ symbols: some, window: { start: part.start, end } });
  }
  const open = symbols.find(
    (symbol) => oldestKnown.has(symbol) && !unusable.has(symbol) && !shown.has(symbol),
  );
  if (open !== undefined)
    throw new WireError("wrong_shape", `${open}: no response shows whether the service has its bars`, 0, {
      hint: "name also a symbol that has bars in this window: an empty response can be a fault of the service",
    });
  return { responses, unusable };
}

/**
 * The symbols about which a response shows something: those with bars in the window, and those that count as absent.
 */
function shownBy({ columns, issues, received, absent }: DecodedKlines): Set<string> {
  const hasRule = (...rules: readonly string[]) => issues.counts.filter(({ rule }) => rules.includes(rule));
  const strayed = new Set(hasRule("outside_window").map(({ symbol }) => symbol));
  const hasStrangers = hasRule("not_requested", "bad_symbol").length > 0;
  const came = [...received].flatMap(([symbol, bars]) => (bars > 0 && !strayed.has(symbol) ? [symbol] : []));
  const { confirmed } = judgeAbsence(absent, { present: columns.symbols.length, hasStrangers });
  return new Set([...came, ...confirmed]);
}

const IN_WINDOW = `symbol IN (SELECT unnest(from_json($1, '["VARCHAR"]')))
  AND timestamp >= make_timestamptz($2::BIGINT * 1000) AND timestamp < make_timestamptz($3::BIGINT * 1000)`;

/** The oldest bar that a lake has of each symbol in a window, in epoch milliseconds. */
async function oldestInLake(
  session: Session,
  table: TableSchema,
  { symbols, window }: AskedWindow,
): Promise<Map<string, number>> {
  const rows = await session.json<{ symbol: string; oldest: number }>(
    `SELECT symbol, epoch_ms(min(timestamp))::DOUBLE AS oldest FROM raw.${ident(table.name)} WHERE ${IN_WINDOW} GROUP BY symbol`,
    [jsonParameter(symbols), window.start, window.end],
  );
  return new Map(rows.map(({ symbol, oldest }) => [symbol, oldest]));
}

/**
 * Requests a window again, and compares the service's bars with those of the lake, by key, in the form in which they would
 * land. Symbols with unusable columns are left out. If bars of a symbol were set aside, no bar of the symbol counts as gone:
 * the service has these bars, but in a wrong form.
 *
 * @param compared receives the bars: `symbol`, `timestamp`, `kind` (null where both bars are equal) and `values`.
 * @throws as {@link askWindowAgain}.
 */
export async function compareWindow(
  session: Session,
  compared: TempTable,
  { client, clock, signal }: SampleEnvironment,
  table: TableSchema,
  asked: AskedWindow,
): Promise<void> {
  const known = await oldestInLake(session, table, asked);
  const { responses, unusable } = await askWindowAgain(client, asked, known, signal);
  const { symbols, window } = asked;
  const now = clock.now();
  const isMinute = isMinutes(table);
  const rules = { finalEnd: finalEnds(now), possibleEnd: possibleEnds(now, isMinute) };
  const bars = responses.map(({ columns }, n) => ({
    columns: statedValues(columns).columns,
    source: `sample ${n}`,
  }));
  const { partitions, rejected } = partitionBars(bars, { unit: isMinute ? "month" : "year", ...rules });
  const segments = partitions.flatMap((partition) => partition.segments);
  const scan = session.scan(barScan(segments, ROW_GROUP_ROWS));
  const usable = symbols.filter((symbol) => !unusable.has(symbol));
  const columns = KLINE_COLUMNS.map(({ name }) => ({
    name: literal(name),
    lake: `lake.${ident(name)}`,
    service: `service.${ident(name)}`,
  }));
  const differs = columns.map(({ lake, service }) => `${lake} IS DISTINCT FROM ${service}`).join(" OR ");
  const values = columns.map(
    ({ name, lake, service }) => `CASE WHEN ${lake} IS DISTINCT FROM ${service} THEN
      {'column': ${name}, 'lake': coalesce(${lake}::VARCHAR, 'null'), 'service': coalesce(${service}::VARCHAR, 'null')} END`,
  );
  try {
    await compared.fill(
      `SELECT symbol, timestamp,
         CASE WHEN lake.close IS NULL THEN 'new' WHEN service.close IS NULL THEN 'gone' WHEN ${differs} THEN 'changed' END AS kind,
         CASE WHEN lake.close IS NOT NULL AND service.close IS NOT NULL
           THEN list_filter([${values.join(", ")}], lambda one: one IS NOT NULL) ELSE [] END AS "values"
       FROM (FROM raw.${ident(table.name)} WHERE ${IN_WINDOW}) AS lake
         FULL JOIN ${scan.sql} AS service USING (symbol, timestamp)`,
      [jsonParameter(usable), window.start, window.end],
    );
    const bad = new Set(rejected.flatMap(({ symbol, rule }) => (isLoss({ rule, rows: 1 }) ? [symbol] : [])));
    for (const { issues } of responses)
      for (const { rule, symbol, rejected: rows } of issues.counts)
        if (symbol !== undefined && isLoss({ rule, rows })) bad.add(symbol);
    await session.run(
      `DELETE FROM ${compared.name} WHERE kind = 'gone' AND symbol IN (SELECT unnest(from_json($1, '["VARCHAR"]')))`,
      [jsonParameter([...bad])],
    );
  } finally {
    scan.release();
  }
}

/** Size of the sample: a fraction of the requests in the ledger, or a number of requests. */
export type SampleSize = { readonly part: number } | { readonly requests: number };

type Deviation = "changed" | "gone" | "new";

export interface DeviatingBar {
  readonly table: string;
  readonly symbol: string;
  /** ISO 8601, UTC. */
  readonly timestamp: string;
  /** `changed`: both have it; `gone`: only the lake; `new`: only the service. */
  readonly kind: Deviation;
  readonly values: readonly { readonly column: string; readonly lake: string; readonly service: string }[];
}

interface TableSample {
  readonly table: string;
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
  const answered = await countRows(session, `(${requests})`, bound);
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
  environment: SampleEnvironment,
  request: SampledRequest,
): Promise<Comparison> {
  const { table } = request;
  await using sampled = new TempTable(session, "sampled_bars");
  await compareWindow(session, sampled, environment, table, request);
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
    `SELECT symbol, ${isoSql("timestamp")} AS timestamp, kind, "values"
     FROM ${sampled.name} WHERE kind IS NOT NULL ORDER BY symbol, ${sampled.name}.timestamp LIMIT ${SHOWN_A_REQUEST}`,
  );
  return { bars: compared, counts, deviations: shown.map((one) => ({ table: table.name, ...one })) };
}

/** SQL of a time in ISO 8601, UTC. */
export function isoSql(time: string): string {
  return `strftime(${time}, '%Y-%m-%dT%H:%M:%S.%gZ')`;
}
