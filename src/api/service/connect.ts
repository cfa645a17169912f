import { RESPONSE_LIMITS, type ResponseLimits } from "../../client/response-limits.js";
import { type ByGroup, expectSendable, hostOf } from "../../client/service-client.js";
import { systemClock } from "../../client/system-clock.js";
import { UsageError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import type { Quota } from "../../jobs/pipeline/definition.js";
import type { Lake } from "../../lake/lake.js";
import type { Environment } from "../../object-store/access/credential-source.js";
import { ENDPOINT_GROUPS } from "../../wire/endpoints.js";
import type {
  ExchangeSummary,
  Instrument,
  ReceivedQuote,
  SymbolRecord,
  UniverseDetail,
  UniverseSummary,
} from "../../wire/resources.js";
import type { AskOptions, RecordTable } from "./ask-records.js";
import {
  type IntradayOptions,
  intradayOfSymbols,
  intradayOfUniverses,
  type Klines,
  type KlineTable,
  klinesOf,
} from "./kline-table.js";
import {
  askExchangeInstruments,
  askExchanges,
  askExFactors,
  askInstruments,
  askQuotes,
  askSymbols,
  askUniverseMembers,
  askUniverses,
  type ExFactor,
  type ExFactorOptions,
  type Financials,
  financialsOf,
  type InstrumentType,
} from "./records.js";
import { type RunAccess, ServiceAccess } from "./service-access.js";

/**
 * A market data service with a key: a method for each endpoint of the interface. Results are Arrow tables with
 * `.rows()` for objects, `.issues` for what was set aside, and the symbols that the service does not know. Requests
 * obey the key's quota, and are sent again where that can help.
 *
 * All methods throw {@link UsageError} for an argument that breaks a rule, {@link ServiceError} for a refusal, {@link
 * TransportError} where there is no connection, and {@link WireError} for a response that breaks the interface.
 *
 * Close it, or declare it with `await using`.
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
   */
  forRun(lake: Lake, quota?: Quota): Promise<RunAccess> {
    return this.#access.forRun(lake, quota);
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

/** Which service is asked, with which key, and how much of the key's quota is used. */
export interface ConnectOptions {
  /** Address of the service. @default BARLAKE_URL of the environment */
  readonly url?: string | undefined;
  /**
   * Never written to a log, an error or an address. Empty: none is sent, and a service that needs one refuses with 401.
   * @default BARLAKE_API_KEY of the environment, else none
   */
  readonly apiKey?: string | undefined;
  /** Requests a minute that the key permits, for each group of endpoints or by group. @default learned from refusals */
  readonly requestsPerMinute?: number | ByGroup<number> | undefined;
  /** The largest part of the key's quota, above 0, up to 1; other processes that use the key have the rest. @default 1 */
  readonly share?: number | undefined;
  /** How long a response may take, and how large it may be. */
  readonly responseLimits?: Partial<ResponseLimits> | undefined;
  /** What the key is used for, in a few words; others that use the key see it. @default "a program" */
  readonly purpose?: string | undefined;
  /** Receives what the user should know, such as a wait for others that use the key. @default nothing is reported */
  readonly onNote?: ((text: string) => void) | undefined;
  /** Names of variables and their values: the service, folders of this machine. @default those of this process */
  readonly environment?: Environment | undefined;
  /** @default the machine's clock */
  readonly clock?: Clock | undefined;
}

/**
 * Connects to a market data service. Nothing is sent before the first request. Processes that use a key at the same time
 * divide its quota equally; none gets more than its `share`.
 *
 * @throws {UsageError} without an address, or for one of the options that is not valid.
 */
export function connect(options: ConnectOptions = {}): MarketService {
  const {
    environment = process.env,
    clock = systemClock,
    purpose = "a program",
    onNote = () => {},
  } = options;
  const { url = environment.BARLAKE_URL, apiKey = environment.BARLAKE_API_KEY ?? "" } = options;
  if (!url)
    throw new UsageError("connect: there is no address of a service", {
      hint: "set BARLAKE_URL, or give { url }; barlake serve is such a service",
    });
  hostOf(url);
  expectSendable(apiKey);
  const { requestsPerMinute, share, responseLimits } = options;
  expectNumbers("requestsPerMinute", requestsPerMinute, ENDPOINT_GROUPS, (n) => n > 0);
  expectNumbers("responseLimits", responseLimits, Object.keys(RESPONSE_LIMITS), (n) => n >= 0);
  expectNumbers("share", share, [], (n) => n > 0 && n <= 1);
  const quota = { requestsPerMinute, share, responseLimits };
  return new MarketService(new ServiceAccess({ url, apiKey, ...quota, purpose, onNote, environment, clock }));
}

/** Checks an option that is a number, or an object of numbers. @throws {UsageError} naming the member and its value. */
function expectNumbers(
  option: string,
  value: number | object | undefined,
  names: readonly string[],
  isFine: (n: number) => boolean,
): void {
  const members: [string, unknown][] =
    typeof value === "object"
      ? Object.entries(value).map(([name, member]) => [`${option}.${name}`, member])
      : [[option, value]];
  for (const [name, member] of members) {
    const isKnown = name === option || names.some((one) => name === `${option}.${one}`);
    if (!isKnown)
      throw new UsageError(`connect: ${name} is not known`, { hint: `known: ${names.join(", ")}` });
    if (member !== undefined && !(typeof member === "number" && isFine(member)))
      throw new UsageError(
        `connect: ${name}: ${typeof member === "number" ? member : JSON.stringify(member)} is not a number in its range`,
      );
  }
}
