import type { RecordBatch } from "apache-arrow";
import { RowTable } from "../../arrow/row-table.js";
import { runBatches, type StreamFacts } from "../../arrow/stream/kline-stream.js";
import { isEndpointRefusal } from "../../client/response-error.js";
import type { Ask } from "../../client/service-client.js";
import { ServiceError, UsageError } from "../../core/errors.js";
import { freedAfterUse } from "../../core/memory-pool.js";
import { basePeriod, PERIODS, type Period } from "../../market/period.js";
import { REGIONS, type Region } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import { instantOf, localDate } from "../../market/zone.js";
import { cutDay, symbolSpans } from "../../plan/absence/window-beginning.js";
import { soundBars } from "../../plan/bar-rules.js";
import { inBatches } from "../../plan/request-units.js";
import { decodeKlines } from "../../wire/decode/decode-klines.js";
import type { KlineExpectation } from "../../wire/decode/kline-sink.js";
import { ENDPOINTS, LIMITS } from "../../wire/endpoints.js";
import type { KlineColumns, KlineRun } from "../../wire/kline-columns.js";
import { instrument } from "../../wire/resources.js";
import { type AskOptions, askBatches } from "./ask-records.js";
import { KlineCollection } from "./collect-klines.js";
import {
  GrowingReport,
  type KlineOptions,
  type KlineReport,
  type KlineRequest,
  klineRequest,
  requestedSymbols,
} from "./kline-request.js";
import { unknownUniverses } from "./records.js";
import type { ServiceAccess } from "./service-access.js";

/**
 * Reports the symbols of which no bar came, and none was set aside: those that the service does not know, and those without a bar in the window.
 * Where the key may not ask for instruments, all of them count as without a bar.
 */
async function nameMissing(
  access: ServiceAccess,
  symbols: readonly string[],
  report: GrowingReport,
  options: AskOptions,
): Promise<void> {
  const named = new Set([...report.open, ...report.counts].map(({ symbol }) => symbol));
  const missing = symbols.filter((symbol) => !report.came.has(symbol) && !named.has(symbol));
  if (missing.length === 0) return;
  try {
    const { entries } = await askBatches(
      access,
      missing,
      LIMITS.symbolsPerRequest,
      (some) => ({ endpoint: ENDPOINTS.instrumentsBatch, body: { symbols: some } }),
      { shape: "list", element: instrument },
      options,
    );
    const known = new Set(entries.map(([, { symbol }]) => symbol));
    report.unknown = missing.filter((symbol) => !known.has(symbol));
    report.empty = missing.filter((symbol) => known.has(symbol));
  } catch (error) {
    if (!(error instanceof ServiceError) || !isEndpointRefusal(error)) throw error;
    report.empty = missing;
  }
}

/** A bar as an object. */
export interface KlineRow {
  readonly symbol: string;
  /** Of a day: midnight of the exchange on the trading date; of minutes: the end of the bar. */
  readonly timestamp: Date;
  /** Prices in currency, adjusted as requested. */
  readonly open: number;
  readonly high: number;
  readonly low: number;
  readonly close: number;
  /** In lots of 100 shares in CN, else in shares. */
  readonly volume: number;
  /** In currency; 0 with a volume above 0 where the source reports none. */
  readonly amount: number;
  readonly open_interest: number | null;
  /** The previous close as the exchange states it; null where it does not. */
  readonly prev_close: number | null;
  readonly settlement_price: number | null;
}

/**
 * K-lines as an Arrow table, ordered by symbol (in the order of the request) and time, with what the responses have
 * shown in addition. Columns: symbol dictionary<int16, utf8> (int32 for more than 32,768 symbols), timestamp timestamp[ms, UTC], then those of {@link KlineRow}.
 */
export class KlineTable extends RowTable<KlineRow> {
  /** Bars that were set aside, symbols that the service does not know, and windows that are not settled. */
  readonly report: KlineReport;

  constructor(batches: readonly RecordBatch[], report: KlineReport) {
    super(batches);
    this.report = report;
  }

  /** Bars, columns and symbols that were set aside, each with its rule. */
  get issues(): KlineReport["issues"] {
    return this.report.issues;
  }
}

/** K-lines as record batches while they arrive; to be iterated once. Its report is complete at the end. */
export interface KlineStream extends AsyncIterable<RecordBatch> {
  readonly report: KlineReport;
}

/** The K-lines of a service. */
export interface Klines {
  /**
   * All bars of a window, or the newest ones. Where a response is cut, the rest is requested; every request is sent again
   * where that can help, and waits for the key's quota.
   *
   * @throws {UsageError} for an option or a symbol that breaks a rule; {@link ServiceError}, {@link TransportError},
   *   {@link WireError} for a request that failed; {@link IncompleteError} with `strict`.
   */
  (symbols: readonly string[], options: KlineOptions): Promise<KlineTable>;
  /**
   * The same bars as record batches of one schema, window by window, oldest first; within a window by symbol. A few
   * responses are in memory at a time, for any number of bars. Errors are thrown while it is iterated.
   */
  stream(symbols: readonly string[], options: KlineOptions): KlineStream;
}

export function klinesOf(access: ServiceAccess): Klines {
  const whole = async (symbols: readonly string[], options: KlineOptions): Promise<KlineTable> => {
    const request = klineRequest(symbols, options);
    const report = new GrowingReport();
    const runs: KlineRun[] = [];
    for await (const block of blocksOf(access, request, report, options)) runs.push(...block);
    return klineTable(runs, request, report);
  };
  const stream = (symbols: readonly string[], options: KlineOptions): KlineStream => {
    const request = klineRequest(symbols, options);
    const report = new GrowingReport();
    const blocks = (): AsyncIterable<readonly KlineRun[]> => blocksOf(access, request, report, options);
    return {
      report,
      [Symbol.asyncIterator]: () => runBatches(blocks(), factsOf(request)),
    };
  };
  return Object.assign(whole, { stream });
}

/** A table of runs, which are ordered by symbol here; those of a symbol are in order of time. */
async function klineTable(
  runs: readonly KlineRun[],
  request: Pick<KlineRequest, "symbols" | "period" | "adjust">,
  report: GrowingReport,
): Promise<KlineTable> {
  const bySymbol = new Map<string, KlineRun[]>(request.symbols.map((symbol) => [symbol, []]));
  for (const run of runs) bySymbol.get(run.symbol)?.push(run);
  const batches: RecordBatch[] = [];
  const ordered = async function* () {
    yield [...bySymbol.values()].flat();
  };
  for await (const batch of runBatches(ordered(), factsOf(request))) batches.push(batch);
  return new KlineTable(batches, report.current);
}

function factsOf({
  symbols,
  period,
  adjust,
}: Pick<KlineRequest, "symbols" | "period" | "adjust">): StreamFacts {
  const metadata = new Map([
    ["period", period],
    ["adjust", adjust],
  ]);
  return { symbols, metadata };
}

/** The bars of a request, window by window; requests in flight end when the consumer leaves. */
async function* blocksOf(
  access: ServiceAccess,
  request: KlineRequest,
  report: GrowingReport,
  { strict = false, signal }: KlineOptions,
): AsyncGenerator<readonly KlineRun[]> {
  const left = new AbortController();
  const ends = AbortSignal.any([left.signal, await access.lost(), ...(signal === undefined ? [] : [signal])]);
  try {
    for await (const block of new KlineCollection(access, request, report, ends).blocks()) {
      if (strict) report.expectComplete();
      yield block;
    }
    await nameMissing(access, request.symbols, report, { signal: ends });
    if (strict) report.expectComplete();
  } finally {
    left.abort();
  }
}

/** How minutes of the latest trading day are requested. */
export interface IntradayOptions extends Pick<KlineOptions, "strict" | "signal"> {
  /** A period of minutes. @default "1m" */
  readonly period?: Period | undefined;
  /** The newest so many bars of each symbol. @default all of the day */
  readonly count?: number | undefined;
}

/** The minutes of symbols on their latest trading day. */
export async function intradayOfSymbols(
  access: ServiceAccess,
  symbols: readonly string[],
  options: IntradayOptions,
): Promise<KlineTable> {
  const some = requestedSymbols("intraday", symbols);
  const { period, count } = checked(options);
  const [only] = some;
  const asks =
    some.length === 1 && only !== undefined
      ? [{ endpoint: ENDPOINTS.intraday, query: { symbol: only, period, count } }]
      : inBatches(some, access.limits.symbolsPerRequest("intraday")).map((batch) => ({
          endpoint: ENDPOINTS.intradayBatch,
          query: { symbols: batch.join(","), period, count },
        }));
  const shape = some.length === 1 ? "single" : "map";
  const { runs, report, signal } = await received(access, asks, { shape, symbols: some }, options);
  await nameMissing(access, some, report, { signal });
  if (options.strict) report.expectComplete();
  return klineTable(runs, { symbols: some, period, adjust: "none" }, report);
}

/**
 * The minutes of universes' members on their latest trading day. Unless they are of a single universe, the service's list of
 * universes is asked for, too, to name those that it does not know.
 */
export async function intradayOfUniverses(
  access: ServiceAccess,
  universes: readonly string[],
  options: IntradayOptions,
): Promise<KlineTable> {
  if (!Array.isArray(universes) || universes.length === 0)
    throw new UsageError("intraday: universes is not a list of at least one id");
  const { period, count } = checked(options);
  const query = { universes: [...new Set(universes)].join(","), period, count };
  const asks = [{ endpoint: ENDPOINTS.intradayUniverse, query }];
  const { runs, report, signal } = await received(access, asks, { shape: "map" }, options);
  // The bars do not say which universe they come of.
  const ids = [...new Set(universes)];
  if (ids.length > 1 || runs.length === 0) report.unknown = await unknownUniverses(access, ids, { signal });
  if (options.strict) report.expectComplete();
  const symbols = [...new Set(runs.map(({ symbol }) => symbol))].sort();
  return klineTable(runs, { symbols, period, adjust: "none" }, report);
}

function checked({ period = "1m", count }: IntradayOptions): { period: Period; count: number } {
  const minutes = PERIODS.filter((one) => basePeriod(one) === "1m");
  if (!minutes.includes(period))
    throw new UsageError(`intraday: period: ${JSON.stringify(period)} is not one of ${minutes.join(", ")}`);
  if (count !== undefined && !(Number.isInteger(count) && count >= 1 && count <= LIMITS.maxCount))
    throw new UsageError(`intraday: count: ${count} is not a whole number from 1 to ${LIMITS.maxCount}`);
  return { period, count: count ?? LIMITS.maxCount };
}

async function received(
  access: ServiceAccess,
  asks: readonly Ask[],
  expectation: KlineExpectation,
  options: IntradayOptions,
): Promise<{ runs: KlineRun[]; report: GrowingReport; signal: AbortSignal }> {
  const client = await access.client();
  const ends = [await access.lost(), ...(options.signal === undefined ? [] : [options.signal])];
  const signal = AbortSignal.any(ends);
  const report = new GrowingReport();
  const runs: KlineRun[] = [];
  for (const ask of asks) {
    report.requests += 1;
    const { value } = await client.ask(ask, (body) => decodeKlines(freedAfterUse(body), expectation), signal);
    const { columns, issues, unusable } = value;
    report.log.addAll(issues);
    for (const symbol of unusable)
      report.open.push({ symbol, window: dayBefore(symbol, access.use.clock.now()), reason: "set_aside" });
    if (options.count === undefined) reportCut(columns, report);
    const sound = soundBars(columns);
    for (const issue of sound.issues) report.log.add(issue);
    for (const run of sound.runs) report.came.add(run.symbol);
    runs.push(...sound.runs);
  }
  return { runs, report, signal };
}

/** Reports the symbols whose day seems to be cut: the time before their first bar is open. */
function reportCut(columns: KlineColumns, report: GrowingReport): void {
  const cut = cutDay(columns);
  if (cut === undefined) return;
  for (const { symbol, start, end } of symbolSpans(columns))
    if (end - start === cut.bars) {
      const first = Number(columns.timestamp[start]);
      report.open.push({ symbol, window: dayBefore(symbol, first), reason: "unexplained" });
    }
}

/** From the midnight of a symbol's exchange to an instant of that day. */
function dayBefore(symbol: string, ms: number): { start: number; end: number } {
  const { zone } = REGIONS[regionOf(symbol) as Region];
  return { start: instantOf(localDate(ms, zone), zone), end: ms };
}
