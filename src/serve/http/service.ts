import { createHash, randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import cors from "@fastify/cors";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { cannotListen, UsageError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { knownOf, type Lake, type PointInTime, replacedText } from "../../lake/lake.js";
import { spillOptions } from "../../lake/local/work-folder.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { STATEMENTS } from "../../schema/statements.js";
import {
  API_KEY_HEADER,
  DEPTH_PATHS,
  ENDPOINTS,
  type Endpoint,
  type EndpointName,
} from "../../wire/endpoints.js";
import { acceptedFormat, type BodyFormat } from "../../wire/media-type.js";
import type { Caller, KeyRing } from "../keys/key-ring.js";
import { EX_EVENT_TABLES } from "../klines/ex-events.js";
import { LakeReader, type LakeView, type ReaderOptions, type Reading } from "../read/lake-reader.js";
import type { LakeVersion } from "../read/lake-version.js";
import { REFERENCE_TABLES } from "../read/reference-data.js";
import { SessionPool } from "../read/session-pool.js";
import { addReplay, fixedReplay, REPLAY_TIME_HEADER, type Replay } from "../replay/add-replay.js";
import { type AsOfTime, instantText } from "../replay/replay-clock.js";
import { addStream, streamOptions } from "../stream/add-stream.js";
import { replayedQuoteBars } from "../stream/requested-quotes.js";
import { addUdf, UDF_PATH } from "../udf/add-udf.js";
import { MemoryBudgets } from "./memory-budget.js";
import { RequestError, responseOf } from "./request-error.js";
import {
  addConnectionDraining,
  addRequestsInFlight,
  PENDING_BYTES,
  type RequestsInFlight,
  requestLifetime,
} from "./request-lifetime.js";
import { countRequest, type RequestQuota, requestQuota } from "./request-quota.js";
import {
  addCompression,
  addEndpoint,
  addPublicPages,
  endpointHandlers,
  methodsOf,
  PUBLIC_PATHS,
} from "./routes.js";
import { type ServiceLogger, serviceMetrics } from "./service-metrics.js";
import { startWarmUp } from "./warm-up.js";

/** Headers of a response that a page's script may read. */
const EXPOSED = ["etag", "retry-after", "x-replay-time", "x-request-id"];
/** Seconds for which a browser caches the response to a preflight: Chromium's limit. */
const MAX_AGE_S = 7200;

/** Permits pages of other origins to call the service, which browsers otherwise block. */
async function addCors(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  await app.register(cors, {
    origin: origins.includes("*") ? "*" : [...origins],
    methods: [...new Set(Object.values(ENDPOINTS).map(({ method }) => method))],
    allowedHeaders: [API_KEY_HEADER, "content-type", "if-none-match"],
    exposedHeaders: EXPOSED,
    maxAge: MAX_AGE_S,
    strictPreflight: false,
  });
}

/** Adds the endpoints of order books. A lake has none, so they always refuse requests. */
function addDepth(app: FastifyInstance): void {
  for (const url of DEPTH_PATHS)
    app.get(url, async () => {
      throw new RequestError("NO_DEPTH_PERMISSION", "a lake has no order books");
    });
}

const TABLES_OF: Readonly<Record<(typeof ENDPOINTS)[EndpointName]["group"], readonly TableSchema[]>> = {
  klines: [...EX_EVENT_TABLES, BARS_1M, ...REFERENCE_TABLES],
  intraday: [BARS_1D, BARS_1M, ...REFERENCE_TABLES],
  quotes: [],
  reference: REFERENCE_TABLES,
  financials: [...Object.values(STATEMENTS), ...REFERENCE_TABLES],
};

/**
 * The strong validator (ETag) of a response that depends only on the request, the lake and the key's permissions;
 * undefined where it also depends on the time of day, as a quote does.
 */
async function responseTag(
  { name, url, format }: { readonly name: EndpointName; readonly url: string; readonly format: BodyFormat },
  { universes }: Caller,
  version: LakeVersion,
): Promise<string | undefined> {
  const { method, group } = ENDPOINTS[name];
  if (method !== "GET" || group === "quotes") return undefined;
  const snapshots = await Promise.all(TABLES_OF[group].map((table) => version.snapshot(table)));
  const parts = [
    url,
    format,
    universes === undefined ? null : [...universes].sort(),
    snapshots.map(({ table, commitId }) => [table.name, commitId]),
    version.visibleUntil,
    version.assumesReference,
  ];
  const digest = createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
  return `"${digest.slice(0, 22)}"`;
}

/** Whether an `if-none-match` header contains a tag. Weak and strong tags are compared as equal here (RFC 9110). */
function namesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false;
  return header.split(",").some((one) => ["*", tag].includes(one.trim().replace(/^W\//, "")));
}

/** @throws {RequestError} always: the interface does not have the path, or the path does not support the method. */
function refusePath(request: FastifyRequest, reply: FastifyReply): never {
  const methods = methodsOf(pathOf(request));
  if (methods.length === 0) throw new RequestError("NOT_FOUND", "path is not one of the interface's");
  void reply.header("allow", methods.join(", "));
  throw new RequestError(
    "METHOD_NOT_ALLOWED",
    `method ${request.method} is not one of ${methods.join(", ")}`,
  );
}

function pathOf(request: FastifyRequest): string {
  return request.url.split(/[?#]/, 1)[0] ?? "";
}

function addErrors(app: FastifyInstance, logger: ServiceLogger | undefined): void {
  app.setErrorHandler((error, request, reply) => {
    const { status, body, retryAfterMs, isFault } = responseOf(error, request.id);
    if (isFault)
      logger?.error({ requestId: request.id, path: request.routeOptions.url, err: error }, "request failed");
    if (retryAfterMs !== undefined) void reply.header("retry-after", String(Math.ceil(retryAfterMs / 1000)));
    // The protocol of chart pages has its own form of an error.
    const isUdf = request.routeOptions.url?.startsWith(UDF_PATH) === true;
    return reply.code(status).send(isUdf ? { s: "error", errmsg: body.message, ...body } : body);
  });
  app.setNotFoundHandler(refusePath);
}

/** How a lake is served: address, keys, limits, replay. */
export interface ServiceOptions extends Pick<ReaderOptions, "segments"> {
  /** @default "127.0.0.1" */
  readonly host?: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Keys that requests may carry in `x-api-key`. */
  readonly keys: KeyRing;
  /** The time of limits and, without a replay, of responses. Without `sleep` the machine's clock is used for it. */
  readonly clock: Pick<Clock, "now"> & Partial<Clock>;
  /** Serves the lake as it was seen at the time of a clock. @default the newest state */
  readonly replay?: Replay;
  /** Serves the lake as of this point in time. @default the newest version at each request */
  readonly pointInTime?: PointInTime;
  /** @default none */
  readonly logger?: ServiceLogger;
  /** Requests that a key may make in any minute, unless the key has its own limit. @default unlimited */
  readonly maxRequestsPerMinute?: number;
  /** Counts the requests of the keys; the service closes it. @default a count of this process alone */
  readonly quota?: RequestQuota;
  /** Most symbols of one request, unless the key has its own limit. @default as many as the URL or body can hold */
  readonly maxSymbols?: number;
  /** Origins whose pages may call the service from a browser; `*` is every origin. @default none */
  readonly corsOrigins?: readonly string[];
  /**
   * Adds the paths of the UDF protocol for chart pages; `open`: pages of this machine need no key. Only for a service that
   * other machines cannot reach. @default no such paths
   */
  readonly udf?: "keys" | "open";
  /** Most requests that query the lake at once; the others wait. @default 3, which leaves one thread for files */
  readonly connections?: number;
  /** Threads that DuckDB may use. @default the machine's cores */
  readonly threads?: number;
  /** Compares files with the hashes in their names before they are read; what needs a damaged one fails. @default true */
  readonly verify?: boolean;
  /** Milliseconds after which a request is aborted, with 503 if nothing was sent yet. @default 120000 */
  readonly requestTimeoutMs?: number;
  /** Reads what the first requests for minutes and quotes of universes need, but in a replay. @default false */
  readonly warmUp?: boolean;
}

/** A running service. */
export interface Service {
  readonly url: string;
  readonly port: number;
  /** Accepts no more requests, finishes the requests in flight, and releases all resources. */
  close(): Promise<void>;
}

const MAX_BODY_BYTES = 1024 * 1024;
/** Enough for about 12,000 symbols. Longer lists fit into the body of a POST. */
const MAX_URL_LENGTH = 128 * 1024;
const REQUEST_TIMEOUT_MS = 120_000;
/** Memory of all queries together. Queries that need more spill to disk. */
const QUERY_MEMORY = "256MB";

/**
 * Every request sees the newest commit of each table, or all tables at the same point in time. @throws {LakeError}
 * where the lake cannot be read, or does not have the version; {@link BarlakeError} where the service cannot listen on
 * the address.
 */
export async function startService(lake: Lake, given: ServiceOptions): Promise<Service> {
  const known = knownOf(given.pointInTime ?? {});
  if (known !== undefined && given.replay !== undefined)
    throw new UsageError("a service either replays, or stands still at a time that is given with the lake");
  const options =
    known === undefined
      ? given
      : { ...given, replay: await fixedReplay(lake, given.pointInTime ?? {}, known, given.clock) };
  const pool = await SessionPool.open(options.connections ?? 3, {
    memoryLimit: QUERY_MEMORY,
    ...spillOptions(lake.work),
    ...lake.access,
    ...(options.threads === undefined ? {} : { threads: options.threads }),
  });
  const damaged = "a data file is damaged: requests that need it fail from now on";
  const reader = new LakeReader(lake, pool, {
    segments: options.segments,
    asOfNow: (): AsOfTime =>
      options.replay?.clock.asOf() ?? { now: options.clock.now(), visibleUntil: undefined },
    pointInTime: options.pointInTime ?? {},
    onDamage: options.verify === false ? undefined : (err) => options.logger?.error({ err }, damaged),
    assumesReference: options.replay?.assumesReference,
  });
  const forget = lake.onReplaced((facts) => options.logger?.error(facts, replacedText(facts)));
  const budgets = new MemoryBudgets();
  let app: FastifyInstance;
  let requests: RequestsInFlight;
  try {
    ({ app, requests } = await makeApp(reader, budgets, options));
    for (const err of await reader.check())
      options.logger?.error({ err }, "a table cannot be read: requests that need it fail, the others do not");
    const at = { host: options.host ?? "127.0.0.1", port: options.port };
    await app.listen(at).catch((cause: unknown) => {
      throw cannotListen("service", at, cause, "give another `port`, or end the program that listens there");
    });
  } catch (error) {
    forget();
    await pool.close();
    throw error;
  }
  const warmUp =
    options.warmUp === true && options.replay === undefined
      ? startWarmUp({ reader, budgets, requests, handlers: endpointHandlers(), logger: options.logger })
      : undefined;
  const { address, port, family } = app.server.address() as AddressInfo;
  return {
    url: `http://${family === "IPv6" ? `[${address}]` : address}:${port}`,
    port,
    async close() {
      await Promise.all([app.close(), warmUp?.[Symbol.asyncDispose]()]);
      await options.quota?.close?.();
      forget();
      await reader.close();
      await pool.close();
    },
  };
}

async function makeApp(
  reader: LakeReader,
  budgets: MemoryBudgets,
  options: ServiceOptions,
): Promise<{ readonly app: FastifyInstance; readonly requests: RequestsInFlight }> {
  const timeoutMs = options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS;
  const app = fastify({
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: timeoutMs,
    return503OnClosing: false,
    requestIdHeader: false,
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: 100 },
    http: { maxHeaderSize: MAX_URL_LENGTH + 16 * 1024, highWaterMark: PENDING_BYTES },
    frameworkErrors: (error, request, reply) => {
      const { status, body } = responseOf(error, request.id);
      void (reply as FastifyReply).code(status).header("x-request-id", request.id).send(body);
    },
    clientErrorHandler: (_error, socket) => {
      if (!socket.writable) return;
      const body =
        '{"code":"INVALID_PARAMETER","message":"request is not valid HTTP, or its URL or headers are too long"}';
      const head = `HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
      socket.end(`${head}\r\n\r\n${body}`);
    },
  });
  app.removeContentTypeParser("text/plain");
  app.server.on("checkExpectation", (_request, response: ServerResponse) => {
    const body = '{"code":"INVALID_PARAMETER","message":"header expect is not 100-continue"}';
    response.writeHead(417, { "content-type": "application/json", connection: "close" }).end(body);
  });
  const requests = addRequestsInFlight(app);
  const callers: Callers = new WeakMap();
  // CORS comes before the checks: a preflight has no key, and a page can read an error only with these headers.
  await addCors(app, options.corsOrigins ?? []);
  const quota = options.quota ?? requestQuota();
  const takeQuota = (caller: Caller): Promise<void> =>
    countRequest(quota, caller, options.clock.now(), options.maxRequestsPerMinute);
  addChecks(app, options, callers, takeQuota);
  addErrors(app, options.logger);
  addConnectionDraining(app);
  addCompression(app);
  const metrics = serviceMetrics(app);
  addPublicPages(app, metrics);
  addReplay(app, options.replay, (request) => callers.get(request));
  addStream(app, { ...streamOptions(options), reader, budgets, metrics, takeQuota });
  const handlers = endpointHandlers(
    options.replay &&
      replayedQuoteBars(app, reader, options.replay.clock, (err) =>
        options.logger?.error({ err }, "minutes were not read ahead"),
      ),
  );
  for (const name of Object.keys(ENDPOINTS) as EndpointName[])
    addEndpoint(
      app,
      name,
      async (request, reply, reading) => {
        const own = callers.get(request) as Caller;
        const caller = { ...own, maxSymbols: own.maxSymbols ?? options.maxSymbols };
        const { group, refusal }: Endpoint = ENDPOINTS[name];
        if (caller.allow?.has(group) === false)
          throw new RequestError(refusal ?? "FORBIDDEN", `${caller.name} may not ask for ${group}`);
        const format = acceptedFormat(request.headers.accept);
        return readWhole(reader, { caller, ...reading }, async (view) => {
          if (options.replay !== undefined) void reply.header(REPLAY_TIME_HEADER, instantText(view.now));
          const tag = await responseTag({ name, url: request.url, format }, caller, view.version);
          if (tag !== undefined && namesTag(request.headers["if-none-match"], tag))
            return { tag, response: undefined };
          const response = await handlers[name](view, {
            query: request.query,
            body: request.body,
            path: request.params as Record<string, string>,
            format,
          });
          return { tag, response };
        });
      },
      { budgets, timeoutMs, logger: options.logger },
    );
  if (options.udf !== undefined)
    addUdf(app, (request, reply, group, answer) => {
      const caller = callers.get(request) as Caller;
      if (caller.allow?.has(group) === false)
        throw new RequestError("FORBIDDEN", `${caller.name} may not ask for ${group}`);
      const lifetime = requestLifetime(reply.raw, budgets, timeoutMs);
      return lifetime.waitFor(readWhole(reader, { caller, ...lifetime.reading }, answer));
    });
  addDepth(app);
  return { app, requests };
}

/** Reads of a request while the lake is replaced, after which it fails. */
const MOST_READS = 3;

/** Reads the lake for a request, again where a table is replaced meanwhile: no response has tables of two histories. */
async function readWhole<T>(
  reader: LakeReader,
  reading: Reading,
  read: (view: LakeView) => Promise<T>,
): Promise<T> {
  for (let times = 1; ; times++) {
    const view = reader.current(reading);
    try {
      const result = await read(view);
      if (!view.isReplaced()) return result;
    } catch (error) {
      if (!view.isReplaced() || times === MOST_READS) throw error;
    }
    if (times === MOST_READS) throw new RequestError("LAKE_UNAVAILABLE", "the lake is being replaced");
  }
}

/** The caller of a chart page without a key. */
const UDF_CALLER: Caller = { name: "udf" };

/** Whether a request names this machine: a page of another site whose name leads here does not. */
function isLocal(host: string): boolean {
  return /^(127\.0\.0\.1|localhost|\[::1\])(:\d+)?$/i.test(host);
}

type Callers = WeakMap<FastifyRequest, Caller>;

/** Adds the checks that every request must pass before its endpoint handles it. */
function addChecks(
  app: FastifyInstance,
  { keys, logger, udf }: ServiceOptions,
  callers: Callers,
  takeQuota: (caller: Caller) => Promise<void>,
): void {
  app.addHook("onRequest", async (request, reply) => {
    void reply.header("x-request-id", request.id);
    if (request.url.length > MAX_URL_LENGTH) {
      throw new RequestError("INVALID_PARAMETER", `URL is longer than ${MAX_URL_LENGTH} characters`);
    }
    const { url } = request.routeOptions;
    // Unknown paths and methods are refused before the body is read, even without a valid key.
    if (url === undefined) refusePath(request, reply);
    if (PUBLIC_PATHS.has(url)) return;
    const header = request.headers[API_KEY_HEADER];
    await keys.refresh?.();
    const isOpen =
      header === undefined && udf === "open" && url.startsWith(UDF_PATH) && isLocal(request.host);
    const caller = isOpen ? UDF_CALLER : typeof header === "string" ? keys.callerOf(header) : undefined;
    if (caller === undefined)
      throw new RequestError("UNAUTHORIZED", `${API_KEY_HEADER} is missing or not a known key`);
    callers.set(request, caller);
    await takeQuota(caller);
  });
  app.addHook("onResponse", async (request, reply) => {
    const { id: requestId, method } = request;
    const facts = { requestId, method, path: request.routeOptions.url, key: callers.get(request)?.name };
    logger?.info(
      { ...facts, status: reply.statusCode, durationMs: Math.round(reply.elapsedTime) },
      "request",
    );
  });
}
