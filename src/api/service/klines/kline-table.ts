import type { RecordBatch } from "apache-arrow";
import { RowTable } from "../../../arrow/row-table.js";
import type { StreamFacts } from "../../../arrow/stream/kline-stream.js";
import { runBatches } from "../../../arrow/stream/run-batches.js";
import type { KlineRun } from "../../../wire/kline-columns.js";
import type { ServiceAccess } from "../service-access.js";
import { AskingKlines } from "./asking-klines.js";
import { GrowingReport, type KlineReport } from "./kline-report.js";
import { type KlineOptions, type KlineRequest, klineRequest } from "./kline-request.js";
import { nameMissing } from "./name-missing.js";

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

/** Makes the K-lines of a service. */
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
export async function klineTable(
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
    for await (const block of new AskingKlines(access, request, report, ends).blocks()) {
      if (strict) report.expectComplete();
      yield block;
    }
    await nameMissing(access, request.symbols, report, { signal: ends });
    if (strict) report.expectComplete();
  } finally {
    left.abort();
  }
}
