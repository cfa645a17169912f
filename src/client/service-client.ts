import pRetry from "p-retry";
import { Agent, request } from "undici";
import { ServiceError, UsageError } from "../core/errors.js";
import type { Clock } from "../core/time.js";
import { API_KEY_HEADER, type Endpoint, type EndpointGroup, pathOf } from "../wire/endpoints.js";
import { canHeal, refusalError, withRequest } from "./answer-error.js";
import { ACCEPTED_ENCODINGS, decodedBody } from "./content-encoding.js";
import { RateGate } from "./rate-gate.js";

export interface ServiceClientOptions {
  /** Address of the service; the endpoints' paths are relative to it. */
  readonly baseUrl: string;
  /** Sent in a header with each request; in no log, error or address. */
  readonly apiKey: string;
  readonly clock: Clock;
  /** Requests a minute of each endpoint group. @default no limit but what the service tells */
  readonly requestsPerMinute?: number | undefined;
  /** How often a request that failed is sent again; waits that the service told do not count. @default 4 */
  readonly retries?: number;
  /** Wait before the first retry; it doubles. @default 500 */
  readonly backoffMs?: number;
  /** Longest silence of the service. @default 60000 */
  readonly timeoutMs?: number;
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

/** What came of a request. */
export interface Answered<T> {
  readonly value: T;
  /** How often it was sent. */
  readonly attempts: number;
  readonly durationMs: number;
}

/** Most times that one request obeys a told wait before it gives up. */
const MAX_TOLD_WAITS = 20;

/** Asks one service, obeys its quota, and asks again where that can heal. It hands on bytes and never decodes. */
export class ServiceClient {
  readonly #options: ServiceClientOptions;
  readonly #base: URL;
  readonly #agent: Agent;
  readonly #gates = new Map<EndpointGroup, RateGate>();

  constructor(options: ServiceClientOptions) {
    this.#options = options;
    this.#base = parseBase(options.baseUrl);
    const timeout = options.timeoutMs ?? 60_000;
    this.#agent = new Agent({ headersTimeout: timeout, bodyTimeout: timeout, connect: { timeout } });
  }

  /** Host of the service, for logs. */
  get host(): string {
    return this.#base.host;
  }

  /**
   * Sends a request, and again while that can heal, and reads its answer.
   *
   * @param read takes the uncompressed body as it arrives; it runs anew with each attempt.
   * @param onSend is told of each attempt, also of those that fail.
   * @throws {ServiceError} refused; {@link TransportError} no connection; {@link WireError} no right answer.
   */
  async ask<T>(
    ask: Ask,
    read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
    signal?: AbortSignal,
    onSend: (attempt: number) => void = () => {},
  ): Promise<Answered<T>> {
    const started = this.#options.clock.now();
    const gate = this.#gate(ask.endpoint.group);
    let attempts = 0;
    let waits = 0;
    const value = await pRetry(
      async () => {
        await gate.enter(signal);
        onSend(++attempts);
        return this.#once(ask, read, signal);
      },
      {
        retries: this.#options.retries ?? 4,
        minTimeout: this.#options.backoffMs ?? 500,
        randomize: true,
        ...(signal ? { signal } : {}),
        shouldRetry: ({ error }) => canHeal(error) && waits <= MAX_TOLD_WAITS,
        shouldConsumeRetry: ({ error }) => !isToldWait(error),
        onFailedAttempt: ({ error }) => {
          if (!isToldWait(error)) return;
          waits += 1;
          gate.pause(error.retryAfterMs);
        },
      },
    );
    return { value, attempts, durationMs: this.#options.clock.now() - started };
  }

  /** Closes the connections. */
  async close(): Promise<void> {
    await this.#agent.close();
  }

  async #once<T>(
    ask: Ask,
    read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    const path = pathOf(ask.endpoint, ask.path);
    const what = `${ask.endpoint.method} ${path}`;
    try {
      const answer = await request(this.#urlOf(path, ask.query), {
        method: ask.endpoint.method,
        dispatcher: this.#agent,
        headers: {
          [API_KEY_HEADER]: this.#options.apiKey,
          accept: "application/json",
          "accept-encoding": ACCEPTED_ENCODINGS,
          ...(ask.body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(ask.body === undefined ? {} : { body: JSON.stringify(ask.body) }),
        ...(signal ? { signal } : {}),
      });
      const header = (name: string): string | undefined => String(answer.headers[name] ?? "") || undefined;
      const body = decodedBody(answer.body, header("content-encoding"));
      if (answer.statusCode !== 200) {
        const contentType = header("content-type") ?? "";
        const refusal = { status: answer.statusCode, contentType, retryAfter: header("retry-after"), body };
        throw await refusalError(what, refusal, this.#options.clock.now());
      }
      return await read(body);
    } catch (error) {
      throw withRequest(what, error);
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

  #gate(group: EndpointGroup): RateGate {
    let gate = this.#gates.get(group);
    if (gate === undefined) {
      gate = new RateGate(this.#options.clock, this.#options.requestsPerMinute);
      this.#gates.set(group, gate);
    }
    return gate;
  }
}

function isToldWait(error: unknown): error is ServiceError & { readonly retryAfterMs: number } {
  return error instanceof ServiceError && error.status === 429 && error.retryAfterMs !== undefined;
}

function parseBase(text: string): URL {
  let url: URL;
  try {
    url = new URL(text);
  } catch (cause) {
    throw new UsageError(`service address "${text}" is not a URL`, {
      hint: "write it like https://host",
      cause,
    });
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new UsageError(`service address "${text}" is neither http nor https`);
  }
  if (url.username !== "" || url.password !== "") {
    throw new UsageError("service address must not hold a user or password", {
      hint: "give the key in BARLAKE_API_KEY",
    });
  }
  return url;
}
