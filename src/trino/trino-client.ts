import { BarlakeError, messageOf, TransportError } from "../core/errors.js";
import type { Clock } from "../core/time.js";
import { parsePage, type TrinoColumn, type TrinoPage } from "./parse-page.js";
import { trinoError } from "./trino-error.js";
import type { TrinoServer } from "./trino-server.js";

/** Options of a client. */
export interface TrinoClientOptions {
  /** Sends a request. @default fetch */
  readonly fetch?: typeof fetch;
  readonly clock: Pick<Clock, "sleep">;
}

/** A part of a statement's result. */
export interface TrinoRows {
  readonly columns: readonly TrinoColumn[];
  readonly rows: readonly (readonly unknown[])[];
  /** The kind of a statement that is not a query; undefined for a query. */
  readonly updateType: string | undefined;
  /** Number of rows that the statement changed; undefined where the server does not state it. */
  readonly updateCount: number | undefined;
}

/** Status codes after which, by the protocol, the request is to be sent again. */
const BUSY: ReadonlySet<number> = new Set([429, 502, 503, 504]);
/** Waits between attempts, in milliseconds. After the last one the statement fails. */
const WAITS_MS = [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000] as const;

/**
 * A client of one Trino server, for its documented protocol: a statement is posted, its result has several pages, and
 * each response contains the address of the next page. The package `trino-client` is not used, because it parses int64
 * as doubles, does not repeat requests, and cannot be aborted.
 */
export class TrinoClient {
  readonly server: TrinoServer;
  readonly #fetch: typeof fetch;
  readonly #clock: Pick<Clock, "sleep">;

  constructor(server: TrinoServer, options: TrinoClientOptions) {
    this.server = server;
    this.#fetch = options.fetch ?? fetch;
    this.#clock = options.clock;
  }

  /**
   * Runs a statement and yields its result page by page; a page is requested when the previous one was taken. The first
   * part is yielded when the columns are known; the last one has the outcome of a statement that is not a query. The
   * query is cancelled if the caller stops early.
   *
   * @throws {QueryError} with the statement, and the position of the error in it.
   */
  async *pages(sql: string, signal?: AbortSignal): AsyncGenerator<TrinoRows, void, undefined> {
    let next: string | undefined;
    try {
      let page = await this.#ask("POST", `${this.server.origin}/v1/statement`, sql, signal);
      for (;;) {
        next = page.nextUri === undefined ? undefined : this.#ownUri(page.nextUri);
        if (page.error !== undefined) {
          next = undefined;
          throw trinoError(page.error, sql);
        }
        const { columns = [], data = [], updateType, updateCount } = page;
        if (columns.length > 0 || updateType !== undefined)
          yield { columns, rows: data, updateType, updateCount };
        if (next === undefined) return;
        page = await this.#ask("GET", next, undefined, signal);
      }
    } finally {
      if (next !== undefined) await this.#cancel(next);
    }
  }

  /** Runs a statement to its end and returns all rows. It is meant for small results. @throws {QueryError} */
  async rows(sql: string, signal?: AbortSignal): Promise<(readonly unknown[])[]> {
    const all: (readonly unknown[])[] = [];
    for await (const { rows } of this.pages(sql, signal)) for (const row of rows) all.push(row);
    return all;
  }

  /** The version of the server. */
  async version(signal?: AbortSignal): Promise<string> {
    const response = await this.#send("GET", `${this.server.origin}/v1/info`, undefined, signal);
    const info = JSON.parse(await response.text()) as { nodeVersion?: { version?: string } };
    return info.nodeVersion?.version ?? "unknown";
  }

  async #ask(
    method: "GET" | "POST",
    uri: string,
    body: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<TrinoPage> {
    const response = await this.#send(method, uri, body, signal);
    try {
      return parsePage(await response.text());
    } catch (cause) {
      signal?.throwIfAborted();
      throw new TransportError(`Trino at ${this.server.origin}: its response is incomplete`, { cause });
    }
  }

  /** Sends a request, again if the response has a status that means "later". */
  async #send(
    method: "GET" | "POST",
    uri: string,
    body: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      const response = await this.#once(method, uri, body, signal);
      if (response.ok) return response;
      const text = await response.text().catch(() => "");
      const wait = WAITS_MS[attempt];
      if (!BUSY.has(response.status) || wait === undefined) throw this.#refused(response.status, text);
      await this.#clock.sleep(wait, signal);
    }
  }

  async #once(
    method: "GET" | "POST" | "DELETE",
    uri: string,
    body: string | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    try {
      return await this.#fetch(uri, {
        method,
        headers: this.#headers(),
        redirect: "error",
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      });
    } catch (cause) {
      signal?.throwIfAborted();
      const reason = cause instanceof Error && cause.cause !== undefined ? cause.cause : cause;
      throw new TransportError(`Trino at ${this.server.origin}: ${messageOf(reason)}`, {
        cause,
        hint: "is it running? `server` or BARLAKE_TRINO says where it is",
      });
    }
  }

  #headers(): Record<string, string> {
    const { user, catalog, schema, authorization } = this.server;
    return {
      "X-Trino-User": user,
      "X-Trino-Source": "barlake",
      "X-Trino-Catalog": encodeURIComponent(catalog),
      "X-Trino-Schema": encodeURIComponent(schema),
      "X-Trino-Time-Zone": "UTC",
      "X-Trino-Client-Capabilities": "PARAMETRIC_DATETIME",
      ...(authorization === undefined ? {} : { Authorization: authorization }),
    };
  }

  #refused(status: number, text: string): BarlakeError {
    const said = /^\s*[<{]/.test(text) ? "" : `: ${text.trim().slice(0, 200)}`;
    const hint =
      status === 401 || status === 403
        ? "set BARLAKE_TRINO_USER with BARLAKE_TRINO_PASSWORD, or BARLAKE_TRINO_TOKEN"
        : BUSY.has(status)
          ? "it was asked ten times; try again later"
          : undefined;
    return new BarlakeError(`Trino at ${this.server.origin} responded with status ${status}${said}`, {
      hint,
    });
  }

  /**
   * The address of the next page, at the origin of this client: behind a proxy Trino may not know its public address.
   * So credentials are never sent to another host.
   */
  #ownUri(uri: string): string {
    const { pathname, search } = new URL(uri);
    return `${this.server.origin}${pathname}${search}`;
  }

  /** Cancels a query whose remaining result is not needed. */
  async #cancel(uri: string): Promise<void> {
    await this.#once("DELETE", uri, undefined, undefined).then(
      (response) => response.body?.cancel(),
      () => {},
    );
  }
}
