import stringWidth from "string-width";
import { BarlakeError, messageOf, QueryError, TransportError, UsageError } from "../core/errors.js";
import type { Clock } from "../core/time.js";
import { parsePage, type TrinoColumn, type TrinoFailure, type TrinoPage } from "./parse-page.js";

/** A query that Trino refused or could not finish. */
export class TrinoQueryError extends QueryError {
  /** Trino's name of the error, such as TABLE_NOT_FOUND. */
  readonly errorName: string;
  /** Whether the statement caused the error, and not the server. */
  readonly isWrongStatement: boolean;

  constructor(
    message: string,
    sql: string,
    { errorName, errorType }: TrinoFailure,
    hint: string | undefined,
  ) {
    super(message, sql, { hint });
    this.errorName = errorName;
    this.isWrongStatement = errorType === "USER_ERROR";
  }
}

const HINTS: Readonly<Record<string, string>> = {
  TABLE_NOT_FOUND: "barlake trino install creates the tables and views; .tables lists them",
  SCHEMA_NOT_FOUND: "barlake trino install creates the schemas; `schema` names another",
  CATALOG_NOT_FOUND: "`catalog` names another; SHOW CATALOGS lists them",
  COLUMN_NOT_FOUND: "the shell's .describe NAME lists the columns of a table",
  EXCEEDED_LOCAL_MEMORY_LIMIT: "ask for fewer symbols or days at a time, or give Trino more memory",
};

/** The error of a failed query. Its position in the statement has the form of DuckDB's errors. */
function trinoError(failure: TrinoFailure, sql: string): TrinoQueryError {
  const { message, errorName, errorLocation } = failure;
  const text = `${errorName}: ${message.replace(/^line \d+:\d+: /, "")}`;
  const line = errorLocation && sql.split("\n")[errorLocation.lineNumber - 1];
  if (errorLocation === undefined || line === undefined)
    return new TrinoQueryError(text, sql, failure, HINTS[errorName]);
  const { lineNumber, columnNumber } = errorLocation;
  const label = `LINE ${lineNumber}: `;
  // Columns count code points. In DuckDB's form a tab has no width.
  const before = Array.from(line)
    .slice(0, columnNumber - 1)
    .join("");
  const indent = " ".repeat(label.length + stringWidth(before));
  return new TrinoQueryError(`${text}\n\n${label}${line}\n${indent}^`, sql, failure, HINTS[errorName]);
}

interface TrinoServer {
  readonly origin: string;
  readonly catalog: string;
  readonly schema: string;
  readonly user: string;
  /** The value of the header Authorization. It is never printed. */
  readonly authorization: string | undefined;
}

export interface TrinoCredentials {
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** A JWT or OAuth token. */
  readonly token?: string | undefined;
}

export const TRINO_DEFAULTS = { catalog: "lake", schema: "barlake" } as const;

const HINT = 'as in http://trino:8080/lake/barlake, or `catalog: "lake"` and `schema: "barlake"`';

/**
 * Parses `http://host:port`, optionally with `/catalog` or `/catalog/schema`, over which the options take precedence.
 * @throws {UsageError} for another form, for credentials in the address, for a password and a token, and for one of
 * them that would be sent to another machine without TLS.
 */
export function trinoServer(
  address: string,
  given: { readonly catalog?: string | undefined; readonly schema?: string | undefined },
  { user = "barlake", password, token }: TrinoCredentials,
): TrinoServer {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new UsageError("the address of Trino must begin with http:// or https://", { hint: HINT });
  if (url.username !== "" || url.password !== "" || url.search !== "" || url.hash !== "")
    throw new UsageError("the address of Trino has more than host, port, catalog and schema", {
      hint: "credentials are taken from BARLAKE_TRINO_USER with BARLAKE_TRINO_PASSWORD, or from BARLAKE_TRINO_TOKEN",
    });
  const parts = url.pathname.split("/").filter((part) => part !== "");
  if (parts.length > 2)
    throw new UsageError(`the address of Trino has ${parts.length} parts after the host`, { hint: HINT });
  const [catalog, schema] = parts.map(decodeURIComponent);
  if (token !== undefined && password !== undefined)
    throw new UsageError("a password and a token for Trino are given, and only one of them can be sent", {
      hint: "unset BARLAKE_TRINO_PASSWORD or BARLAKE_TRINO_TOKEN",
    });
  const hasSecret = token !== undefined || password !== undefined;
  const isLoopback = /^(localhost|127\.[\d.]+|\[::1\])$/.test(url.hostname);
  if (hasSecret && url.protocol !== "https:" && !isLoopback)
    throw new UsageError("a password or a token is not sent without TLS", {
      hint: "give an address that begins with https://",
    });
  return {
    origin: url.origin,
    catalog: given.catalog ?? catalog ?? TRINO_DEFAULTS.catalog,
    schema: given.schema ?? schema ?? TRINO_DEFAULTS.schema,
    user,
    authorization:
      token !== undefined
        ? `Bearer ${token}`
        : password !== undefined
          ? `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`
          : undefined,
  };
}

interface TrinoClientOptions {
  /** Sends a request. @default fetch */
  readonly fetch?: typeof fetch;
  readonly clock: Pick<Clock, "sleep">;
}

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
 * each response contains the address of the next. The package `trino-client` parses int64 as doubles, does not repeat
 * requests, and cannot be aborted.
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
   * Runs a statement and yields its result page by page, each requested when the previous one was taken: the first when
   * the columns are known, the last with the outcome of what is not a query. The query is cancelled if the caller stops
   * early. @throws {QueryError} with the statement, and the position of the error in it.
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
   * The address of the next page, at the origin of this client: behind a proxy Trino may not know its public address,
   * and credentials are never sent to another host.
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
