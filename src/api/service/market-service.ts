import { hostOf } from "../../client/service-client.js";
import type { Quota } from "../../jobs/pipeline/definition.js";
import type { Lake } from "../../lake/lake.js";
import type {
  ExchangeSummary,
  Instrument,
  ReceivedQuote,
  SymbolRecord,
  UniverseDetail,
  UniverseSummary,
} from "../../wire/resources.js";
import { type IntradayOptions, intradayOfSymbols, intradayOfUniverses } from "./klines/intraday.js";
import { type Klines, type KlineTable, klinesOf } from "./klines/kline-table.js";
import type { AskOptions } from "./records/ask-records.js";
import { askExFactors, type ExFactor, type ExFactorOptions } from "./records/ex-factors.js";
import { type Financials, financialsOf } from "./records/financials.js";
import type { RecordTable } from "./records/record-table.js";
import {
  askExchangeInstruments,
  askExchanges,
  askInstruments,
  askQuotes,
  askSymbols,
  askUniverseMembers,
  askUniverses,
  type InstrumentType,
} from "./records/reference.js";
import type { RunAccess, ServiceAccess } from "./service-access.js";

/**
 * A market data service with a key: a method for each endpoint of the interface. Results are Arrow tables with `.rows()`
 * for objects, `.issues` for what was set aside, and the symbols that the service does not know. Requests obey the key's
 * quota, and are sent again where that can help.
 *
 * All methods throw {@link UsageError} for an argument that breaks a rule, {@link ServiceError} for a refusal,
 * {@link TransportError} where there is no connection, and {@link WireError} for a response that breaks the interface.
 *
 * It is a class because it owns the key, which it claims at the first request, and the connections: close it, or declare
 * it with `await using`.
 */
export class MarketService implements AsyncDisposable {
  readonly #access: ServiceAccess;
  /** K-lines of symbols: `GET /v1/klines/batch`. */
  readonly klines: Klines;
  /** Financial statements: `GET /v1/financials/...`. */
  readonly financials: Financials;

  /** Only {@link connect} makes one. */
  constructor(access: ServiceAccess) {
    this.#access = access;
    this.klines = klinesOf(access);
    this.financials = financialsOf(access);
  }

  /** Host of the service, with its port. */
  get host(): string {
    return hostOf(this.#access.use.url);
  }

  /**
   * What a run on a lake needs of the service. The limits of the service that the run learns are stored in the lake.
   *
   * @param quota of the pipeline, where the caller of {@link connect} has named none.
   * @param signal ends the wait for the key.
   * @param waits whether to wait, without a limit, while another process of this machine uses the key. @default false
   */
  forRun(lake: Lake, quota?: Quota, signal?: AbortSignal, waits?: boolean): Promise<RunAccess> {
    return this.#access.forRun(lake, quota, { signal, waits });
  }

  /** Minutes of symbols on their latest trading day: `GET /v1/klines/intraday`, and `.../batch` for several symbols. */
  intraday(symbols: readonly string[], options: IntradayOptions = {}): Promise<KlineTable> {
    return intradayOfSymbols(this.#access, symbols, options);
  }

  /** Minutes of universes' members on their latest trading day: `GET /v1/klines/intraday/universe`. */
  intradayOfUniverses(universes: readonly string[], options: IntradayOptions = {}): Promise<KlineTable> {
    return intradayOfUniverses(this.#access, universes, options);
  }

  /** The ratios of ex-events: `GET /v1/klines/ex-factors`, an extension that a service may lack. */
  exFactors(symbols: readonly string[], options: ExFactorOptions = {}): Promise<RecordTable<ExFactor>> {
    return askExFactors(this.#access, symbols, options);
  }

  /**
   * Quotes of symbols, or of symbols and the members of universes: `POST /v1/quotes`. `unknown` names the symbols without a
   * quote, and the universes that the service does not list.
   */
  quotes(
    of: readonly string[] | { readonly symbols?: readonly string[]; readonly universes?: readonly string[] },
    options: AskOptions = {},
  ): Promise<RecordTable<ReceivedQuote>> {
    return askQuotes(this.#access, of, options);
  }

  /** Metadata of symbols: `POST /v1/instruments`. */
  instruments(symbols: readonly string[], options: AskOptions = {}): Promise<RecordTable<Instrument>> {
    return askInstruments(this.#access, symbols, options);
  }

  /** All instruments of an exchange, such as `SH`, or those of a type: `GET /v1/exchanges/{exchange}/instruments`. */
  exchangeInstruments(
    exchange: string,
    options: AskOptions & { readonly type?: InstrumentType | undefined } = {},
  ): Promise<RecordTable<Instrument>> {
    return askExchangeInstruments(this.#access, exchange, options);
  }

  /** Symbol records: `POST /v1/symbols`. */
  symbols(symbols: readonly string[], options: AskOptions = {}): Promise<RecordTable<SymbolRecord>> {
    return askSymbols(this.#access, symbols, options);
  }

  /** All universes: `GET /v1/universes`. */
  universes(options: AskOptions = {}): Promise<RecordTable<UniverseSummary>> {
    return askUniverses(this.#access, options);
  }

  /** Members of universes, a row for each; as objects, the universes with their symbols: `POST /v1/universes/batch`. */
  universeMembers(ids: readonly string[], options: AskOptions = {}): Promise<RecordTable<UniverseDetail>> {
    return askUniverseMembers(this.#access, ids, options);
  }

  /** All exchanges: `GET /v1/exchanges`. */
  exchanges(options: AskOptions = {}): Promise<RecordTable<ExchangeSummary>> {
    return askExchanges(this.#access, options);
  }

  /** Closes the connections, and releases the key. */
  close(): Promise<void> {
    return this.#access[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
