import type { Readable } from "node:stream";
import pRetry from "p-retry";
import type { Agent } from "undici";
import { BarlakeError, ServiceError, TransportError, UsageError, WireError } from "../core/errors.js";
import { type Clock, DAY_MS, MINUTE_MS, ticksOf } from "../core/time.js";
import type { QuotaState } from "../plan/quota/rate.js";
import { API_KEY_HEADER, type Endpoint, type EndpointGroup, pathOf } from "../wire/endpoints.js";
import { JSON_TYPE } from "../wire/media-type.js";
import { type GroupOptions, KeyQuota, type Permit } from "./key/key-quota.js";
import {
  isNotOffered,
  isOverQuota,
  refusalError,
  UnreachableError,
  unreachable,
  withRequest,
} from "./response-error.js";
import {
  bounded,
  decodedBody,
  encodingsFor,
  interimLimit,
  RESPONSE_LIMITS,
  type ResponseLimits,
  timely,
} from "./response-limits.js";

/** Clocks differ a little, and a `Date` header has whole seconds. */
const MOST_AHEAD_MS = 5 * MINUTE_MS;
/** A service's time that is further behind this machine's is not used. */
const MOST_USABLE_MS = DAY_MS;

export class ClockAheadError extends BarlakeError {
  readonly aheadMs: number;

  constructor(message: string, aheadMs: number) {
    super(message, {
      hint: "set the clock that is wrong, and run again: with a clock ahead, bars that still change would count as final",
    });
    this.aheadMs = aheadMs;
  }

  /** Whether a run may use the service's time instead of this machine's. */
  get isUsable(): boolean {
    return this.aheadMs <= MOST_USABLE_MS;
  }
}

/** When a request was sent, by this machine's clock, and the headers of its response that give the service's time. */
interface ResponseTimes {
  /** Epoch milliseconds. */
  readonly sentAt: number;
  readonly date: string | undefined;
  /** Seconds that the response was in a cache. */
  readonly age: string | undefined;
  /** By how many milliseconds this machine's clock is known to be ahead: the caller does not rely on it. */
  readonly knownAheadMs?: number | undefined;
}

/**
 * Checks that this machine's clock is not ahead of the service's: otherwise bars that still change would be final, and
 * days that have not happened would count as days without bars.
 *
 * @param what names the request.
 * @throws {ClockAheadError} where it is ahead. A response without a valid `Date` header says nothing about it.
 */
function expectClockNotAhead(what: string, { sentAt, date, age, knownAheadMs = 0 }: ResponseTimes): void {
  const writtenAt = Date.parse(date ?? "");
  const theirs = writtenAt + 1000 * (Number(age) || 0);
  if (Number.isNaN(theirs) || sentAt - theirs <= knownAheadMs + MOST_AHEAD_MS) return;
  const minutes = Math.round((sentAt - theirs) / MINUTE_MS);
  const times = [sentAt, theirs].map((ms) => new Date(ms).toISOString());
  throw new ClockAheadError(
    `${what}: this machine's clock is ${minutes} min ahead of the service's: it was ${times[0]} here when the request was sent, and ${times[1]} there (Date header) at the response`,
    sentAt - theirs,
  );
}

/** Shorter keys are parts of ordinary words, without which a text would not say anything. */
const SHORTEST_KEY = 8;

/**
 * Takes a key out of all texts of an error and of its causes: some services repeat the key that they refuse, and errors
 * reach logs, the ledger and other people.
 *
 * @returns the same error.
 */
function redactKey(error: unknown, apiKey: string): unknown {
  if (apiKey.length < SHORTEST_KEY) return error;
  for (let one = error; one instanceof Error; one = one.cause) {
    const texts = one as unknown as Record<string, unknown>;
    for (const name of Object.getOwnPropertyNames(one)) {
      const text = texts[name];
      if (typeof text === "string" && text.includes(apiKey))
        texts[name] = text.replaceAll(apiKey, "[the key]");
    }
  }
  return error;
}

/** Refusals for the quota after which a request fails: eight minutes of them, where none says how long to wait. */
const MAX_REFUSALS = 24;

interface RetryOptions {
  readonly clock: Clock;
  /** How often a request that failed is sent again; refusals for the quota do not count. */
  readonly retries: number;
  /** Wait before the first retry, up to twice that, in milliseconds; it doubles. */
  readonly backoffMs: number;
  readonly signal: AbortSignal | undefined;
  readonly unsent: AbortSignal | undefined;
}

/**
 * Sends a request, and sends it again while that can help: at once after a refusal for the quota, because `send` waits
 * for its permit itself, and after a wait that doubles in all other cases. The service may ask for a longer wait.
 *
 * @throws the error of the last attempt.
 */
async function withRetries<T>(
  send: () => Promise<T>,
  { clock, retries, backoffMs, signal, unsent }: RetryOptions,
): Promise<T> {
  let refusals = 0;
  const sendInQuota = async (): Promise<T> => {
    for (;;) {
      try {
        return await send();
      } catch (error) {
        if (!isOverQuota(error) || ++refusals > MAX_REFUSALS) throw error;
      }
    }
  };
  return await pRetry(sendInQuota, {
    retries,
    // The waits use the clock of the options.
    minTimeout: 0,
    ...(signal ? { signal } : {}),
    shouldRetry: ({ error }) => isRetryable(error),
    onFailedAttempt: async ({ error, attemptNumber, retriesLeft }) => {
      if (retriesLeft === 0 || !isRetryable(error)) return;
      const requestedMs = error instanceof ServiceError ? (error.retryAfterMs ?? 0) : 0;
      const backoff = backoffMs * 2 ** (attemptNumber - 1) * (1 + Math.random());
      await clock.sleep(Math.max(requestedMs, Math.ceil(backoff)), unsent);
    },
  });
}

/** Whether sending a failed request again can help; refusals for the quota are counted elsewhere. */
function isRetryable(error: unknown): boolean {
  // What refuses a connection may be starting; a host that nobody knows from the beginning is a wrong address.
  if (error instanceof UnreachableError) return !error.isUnknownHost;
  if (error instanceof TransportError) return true;
  if (error instanceof WireError) return error.kind === "truncated" || error.kind === "not_json";
  return (
    error instanceof ServiceError && !isNotOffered(error) && (error.status >= 500 || error.status === 408)
  );
}

interface Http {
  readonly request: typeof import("undici").request;
  readonly agent: Agent;
}

/** Loads it when it is needed: many runs send no request. @param timeout in milliseconds; 0 waits for ever. */
async function loadHttp(timeout = 60_000): Promise<Http> {
  const { Agent, request } = (await import("undici")).default;
  const agent = new Agent({ headersTimeout: timeout, bodyTimeout: timeout, connect: { timeout } });
  return { request, agent };
}

/** How a service is reached: its address, the key, limits and times. */
export interface ServiceClientOptions {
  /** Address of the service; the endpoints' paths are relative to it. */
  readonly baseUrl: string;
  /** Sent in a header with each request; never written to a log, an error or an address. Empty: none is sent. */
  readonly apiKey: string;
  readonly clock: Clock;
  /** Requests a minute of the key, of each endpoint group or by group. @default learned from refusals */
  readonly requestsPerMinute?: number | ByGroup<number> | undefined;
  /** Requests a minute of the key that an earlier run has learned. */
  readonly learned?: ByGroup<number> | undefined;
  /** The part of the key's quota that this client may use, above 0, up to 1. @default 1 */
  readonly share?: number | undefined;
  /** The right to use the key at a time, where others use it, too. @default it may be used at any time */
  readonly right?: KeyRight | undefined;
  /** Called with what refusals have taught about the service. */
  readonly onLearned?: ((learned: LearnedRate) => void) | undefined;
  /** How often a request that failed is sent again; refusals for the quota do not count. @default 4 */
  readonly retries?: number;
  /** Wait before the first retry, up to twice that, in milliseconds; it doubles. @default 500 */
  readonly backoffMs?: number;
  /**
   * Longest wait for a connection, for the head of a response, and between two pieces of its body, in milliseconds; 0
   * waits for ever. @default 60000
   */
  readonly timeoutMs?: number;
  /** Limits of the time and the size of a response. @default {@link RESPONSE_LIMITS} */
  readonly limits?: Partial<ResponseLimits> | undefined;
}

/** The right to use a key now. */
export interface KeyRight {
  readonly isReady: boolean;
  /** Waits until the right exists. @throws where it is lost, and the signal's reason. */
  ready(signal?: AbortSignal): Promise<void>;
}

/** A value for some groups of endpoints. */
export type ByGroup<T> = Readonly<Partial<Record<EndpointGroup, T>>>;

/** Requests a minute that a service permits for the key, as its refusals have shown. */
export interface LearnedRate {
  readonly group: EndpointGroup;
  readonly requestsPerMinute: number;
}

/** One request to the service. */
export interface Ask {
  readonly endpoint: Endpoint;
  /** Values of the `:name` parameters of the path. */
  readonly path?: Readonly<Record<string, string>>;
  /** Undefined values are not sent. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: unknown;
}

/** Reads the uncompressed body of a response as it arrives. */
export type ReadBody<T> = (body: AsyncIterable<Uint8Array>) => Promise<T>;

/** The result of a request. */
export interface ReadResponse<T> {
  readonly value: T;
  readonly attempts: number;
  readonly durationMs: number;
}

/**
 * Sends requests to one service, obeys its quota, and retries where that can help. It passes on bytes and decodes none.
 */
export class ServiceClient {
  readonly #options: ServiceClientOptions;
  readonly #base: URL;
  /** Loaded with the first request: many runs send none. */
  #http: Promise<Http> | undefined;
  readonly #quota: KeyQuota;
  #turn = 0;
  /** Whether a response has come: after it, a refused connection does not show that the address is wrong. */
  #hasResponded = false;
  #knownAheadMs = 0;

  constructor(options: ServiceClientOptions) {
    this.#options = options;
    this.#base = parseBase(options.baseUrl);
    expectSendable(options.apiKey);
    const { requestsPerMinute: rpm, learned, share, onLearned } = options;
    const optionsOf = (group: EndpointGroup): GroupOptions => ({
      configured: typeof rpm === "object" ? rpm[group] : rpm,
      learned: learned?.[group],
      onLearned: (requestsPerMinute) => onLearned?.({ group, requestsPerMinute }),
    });
    this.#quota = new KeyQuota(options.clock, optionsOf, share);
  }

  /** Host of the service, for logs. */
  get host(): string {
    return this.#base.host;
  }

  /**
   * Sends a request, retries it while that can help, and reads its response.
   *
   * @param read runs again for each attempt.
   * @param signal ends the request, also in flight.
   * @param onSend called before each attempt, also of those that fail; if it throws, nothing is sent.
   * @param unsent ends the request only while it waits to be sent, or to be sent again.
   * @throws {ServiceError} refused; {@link TransportError} no connection, {@link UnreachableError} where nothing has
   *   ever responded; {@link WireError} invalid response;
   *   {@link ClockAheadError} where this machine's clock is ahead of the service's.
   */
  async ask<T>(
    ask: Ask,
    read: ReadBody<T>,
    signal?: AbortSignal,
    onSend: (attempt: number) => void | Promise<void> = () => {},
    unsent: AbortSignal | undefined = signal,
  ): Promise<ReadResponse<T>> {
    const { clock, retries = 4, backoffMs = 500, right } = this.#options;
    const started = ticksOf(clock);
    const turn = this.#turn++;
    let attempts = 0;
    // Before the permit: the time at which a request is counted is that at which it is sent.
    const http = await (this.#http ??= loadHttp(this.#options.timeoutMs));
    const mayUseKey = (): boolean => right?.isReady !== false;
    const send = async (): Promise<T> => {
      for (;;) {
        await right?.ready(unsent);
        const permit = await this.#quota.acquire(ask.endpoint.group, turn, unsent);
        try {
          // The call may wait for a lease, and the right to the key may end in that time.
          if (mayUseKey()) await onSend(attempts + 1);
        } catch (error) {
          permit.unsent();
          throw error;
        }
        if (mayUseKey()) {
          attempts += 1;
          permit.sentNow();
          return await this.#once(http, ask, read, permit, signal);
        }
        permit.unsent();
      }
    };
    const value = await withRetries(send, { clock, retries, backoffMs, signal, unsent });
    return { value, attempts, durationMs: ticksOf(clock) - started };
  }

  quotaOf(group: EndpointGroup): QuotaState {
    return this.#quota.stateOf(group);
  }

  /** The quota of the key, to apply other parts of it, and to tell the next client with this key what was sent lately. */
  get quota(): Pick<KeyQuota, "setShare" | "giveUp" | "sentLately"> {
    return this.#quota;
  }

  /**
   * Accepts that this machine's clock is ahead of the service's: the caller uses the earlier of both times.
   *
   * @param aheadMs milliseconds.
   */
  acceptClockAhead(aheadMs: number): void {
    this.#knownAheadMs = aheadMs;
  }

  async close(): Promise<void> {
    await (await this.#http)?.agent.close();
  }

  async #once<T>(
    { request, agent }: Http,
    ask: Ask,
    read: ReadBody<T>,
    permit: Permit,
    signal?: AbortSignal,
  ): Promise<T> {
    const path = pathOf(ask.endpoint, ask.path);
    const what = `${ask.endpoint.method} ${path}`;
    let open: Readable | undefined;
    try {
      const sentAt = this.#options.clock.now();
      const response = await request(this.#urlOf(path, ask.query), {
        method: ask.endpoint.method,
        dispatcher: agent,
        onInfo: interimLimit(),
        headers: {
          ...(this.#options.apiKey === "" ? {} : { [API_KEY_HEADER]: this.#options.apiKey }),
          accept: JSON_TYPE,
          "accept-encoding": encodingsFor(this.#base),
          ...(ask.body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
        ...(signal ? { signal } : {}),
      });
      this.#hasResponded = true;
      const { statusCode: status, headers } = response;
      const { clock } = this.#options;
      const limits = { ...RESPONSE_LIMITS, ...this.#options.limits };
      open = response.body.on("error", () => {});
      const body = timely(response.body, limits, clock);
      const header = (name: string): string | undefined => String(headers[name] ?? "") || undefined;
      const encoding = header("content-encoding");
      if (status !== 200) {
        const facts = {
          status,
          contentType: header("content-type") ?? "",
          retryAfter: header("retry-after"),
        };
        const error = await refusalError(what, { ...facts, body, encoding }, clock.now());
        if (isOverQuota(error)) permit.refused(error.retryAfterMs);
        throw error;
      }
      permit.passed();
      const knownAheadMs = this.#knownAheadMs;
      expectClockNotAhead(what, { sentAt, date: header("date"), age: header("age"), knownAheadMs });
      return await read(bounded(decodedBody(body, encoding), limits));
    } catch (error) {
      const nobody = this.#hasResponded ? undefined : unreachable(this.host, error);
      throw redactKey(nobody ?? withRequest(what, error), this.#options.apiKey);
    } finally {
      permit.passed();
      // A body that was not read to its end would otherwise hold its connection.
      open?.destroy();
    }
  }

  #urlOf(path: string, query: Ask["query"] = {}): URL {
    const url = new URL(this.#base);
    url.pathname = url.pathname.replace(/\/$/, "") + path;
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    return url;
  }
}

/** Host and port of a service's address. @throws {UsageError} for an address that a client does not accept. */
export function hostOf(baseUrl: string): string {
  return parseBase(baseUrl).host;
}

/** @throws {UsageError} for a key that cannot be sent; no message contains it. */
export function expectSendable(apiKey: string): void {
  if (/[^\t\x20-\x7e\x80-\xff]/.test(apiKey))
    throw new UsageError("API key has a character that cannot be sent, such as the end of a line", {
      hint: "copy the key again, without other characters before or after it",
    });
}

/** No message contains the text: it may be a key that was given as the address, or contain a password. */
function parseBase(text: string): URL {
  if (!URL.canParse(text))
    throw new UsageError("service address is not a URL", { hint: "write it like https://host" });
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new UsageError("service address is neither http nor https", { hint: "write it like https://host" });
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new UsageError("service address must not contain a user, a password, or a part after ? or #", {
      hint: "give the key in BARLAKE_API_KEY",
    });
  const [page] = /\/(?:docs|openapi\.json|v1)\/?$/.exec(url.pathname) ?? [];
  if (page !== undefined) {
    const is = page.startsWith("/v1")
      ? "each path of the interface begins with"
      : "is a page about the interface";
    throw new UsageError(`service address ends with ${page}, which ${is}`, {
      hint: `give the address without it: ${url.origin}${url.pathname.slice(0, -page.length)}`,
    });
  }
  return url;
}
