import { randomUUID } from "node:crypto";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import { cannotListen } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { type Lake, type PointInTime, replacedText } from "../../lake/lake.js";
import { spillOptions } from "../../lake/local/work-folder.js";
import { API_KEY_HEADER, ENDPOINTS, type Endpoint, type EndpointName } from "../../wire/endpoints.js";
import { acceptedFormat } from "../../wire/media-type.js";
import type { Caller, KeyRing } from "../keys/key-ring.js";
import { LakeReader, type LakeView, type ReaderOptions, type Reading } from "../read/lake-reader.js";
import { SessionPool } from "../read/session-pool.js";
import { addReplay, REPLAY_TIME_HEADER, type Replay } from "../replay/add-replay.js";
import type { AsOfTime } from "../replay/as-of-time.js";
import { instantText } from "../replay/replay-clock.js";
import { addStream } from "../stream/add-stream.js";
import { replayedQuoteBars } from "../stream/requested-quotes.js";
import { streamOptions } from "../stream/stream-options.js";
import { addEndpoint } from "./add-endpoint.js";
import { addCompression } from "./compression.js";
import { addConnectionDraining } from "./connection-draining.js";
import { addCors } from "./cors.js";
import { addDepth } from "./depth.js";
import { addErrors } from "./errors/add-errors.js";
import { refusePath } from "./errors/refuse-path.js";
import { RequestError, responseOf } from "./errors/request-error.js";
import { MemoryBudgets } from "./memory-budget.js";
import { addPublicPages, PUBLIC_PATHS } from "./public-pages.js";
import { PENDING_BYTES } from "./request-lifetime.js";
import { countRequest, type RequestQuota, requestQuota } from "./request-quota.js";
import { addRequestsInFlight, type RequestsInFlight } from "./requests-in-flight.js";
import { namesTag, responseTag } from "./response-tag.js";
import { endpointHandlers } from "./routes.js";
import type { ServiceLogger } from "./service-logger.js";
import { serviceMetrics } from "./service-metrics.js";
import { startWarmUp } from "./warm-up.js";

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
  /** Most requests that query the lake at once; the others wait. @default 3, which leaves one thread for files */
  readonly connections?: number;
  /** Threads that DuckDB may use. @default the machine's cores */
  readonly threads?: number;
  /**
   * Compares each file with the hash in its name before it is first read. A damaged file is logged, and requests that
   * need it fail. @default true
   */
  readonly verify?: boolean;
  /** Milliseconds after which a request is aborted, with 503 if nothing was sent yet. @default 120000 */
  readonly requestTimeoutMs?: number;
  /**
   * Reads what the first requests for minutes and quotes of the universes need as soon as the service listens. It is
   * not done in a replay. @default false
   */
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
 * Serves the interface from a lake. Every request sees the newest commit of each table at the time of the request, or
 * all tables at the same point in time.
 *
 * @throws {LakeError} where the lake cannot be read, or does not have the version; {@link BarlakeError} where the
 *   service cannot listen on the address.
 */
export async function startService(lake: Lake, options: ServiceOptions): Promise<Service> {
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

/** The caller of each request. */
type Callers = WeakMap<FastifyRequest, Caller>;

/** Adds the checks that every request must pass before its endpoint handles it. */
function addChecks(
  app: FastifyInstance,
  { keys, logger }: ServiceOptions,
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
    const caller = typeof header === "string" ? keys.callerOf(header) : undefined;
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
