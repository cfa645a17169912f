import { randomUUID } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { FastifyInstance } from "fastify";
import { WebSocketServer } from "ws";
import { systemClock } from "../../client/system-clock.js";
import { type Clock, ticksOf } from "../../core/time.js";
import { API_KEY_HEADER } from "../../wire/endpoints.js";
import type { MemoryBudgets } from "../http/memory-budget.js";
import { RequestError, responseOf } from "../http/request-error.js";
import type { ServiceLogger, ServiceMetrics } from "../http/service-metrics.js";
import type { Caller, KeyRing } from "../keys/key-ring.js";
import type { LakeReader } from "../read/lake-reader.js";
import { REPLAY_TIME_HEADER, type Replay } from "../replay/add-replay.js";
import { instantText, nextMinute } from "../replay/replay-clock.js";
import { QuoteHub } from "./quote-hub.js";
import { MAX_MESSAGE_BYTES, QuoteStream, STREAM_PATHS, type StreamPath } from "./quote-stream.js";

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/**
 * Gives a request that asked for an upgrade back to the server, without its upgrade headers: once a server has a
 * listener for upgrades, Node no longer handles such requests itself, and HTTP/2 clients send them.
 */
function handBack(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const lines: string[] = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  const { rawHeaders } = request;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = [rawHeaders[at], rawHeaders[at + 1]];
    if (/^(?:upgrade|http2-settings)$/i.test(name)) continue;
    const rest = /^connection$/i.test(name)
      ? value.replaceAll(/\b(?:upgrade|http2-settings)\b,?\s*/gi, "")
      : value;
    if (rest.replaceAll(/[,\s]/g, "") !== "" || rest === value) lines.push(`${name}: ${rest}`);
  }
  // The server adds its listeners again; without this, each such request of a connection would add another one.
  socket.removeAllListeners("timeout");
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}

/** Refuses a handshake with one of the interface's errors. @returns the HTTP status. */
function refuseHandshake(socket: Socket, error: unknown, requestId: string): number {
  const { status, body, retryAfterMs } = responseOf(error, requestId);
  const text = JSON.stringify(body);
  const wait = retryAfterMs === undefined ? "" : `retry-after: ${Math.ceil(retryAfterMs / 1000)}\r\n`;
  // The socket is destroyed when the response is sent, so that it does not stay half open until the client ends it.
  socket.once("finish", () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${REASONS[status] ?? "Error"}\r\nconnection: close\r\n` +
      `content-type: application/json; charset=utf-8\r\nx-request-id: ${requestId}\r\n${wait}` +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  return status;
}

/** Most open connections of one key, and of the service. */
const MOST_OF_A_KEY = 20;
const MOST_OF_ALL = 1000;
/** How long closing waits for clients to receive the end of their connections, in milliseconds. */
const CLOSING_MS = 1000;
const GOING_AWAY = 1001;

interface StreamOptions {
  readonly reader: LakeReader;
  readonly budgets: MemoryBudgets;
  readonly metrics: ServiceMetrics;
  readonly keys: KeyRing;
  readonly clock: Pick<Clock, "now" | "monotonic" | "sleep">;
  readonly logger: ServiceLogger | undefined;
  readonly maxSymbols: number | undefined;
  readonly isReplayed: boolean;
  /** Registers a function that is called when the replay is set to an earlier time; returns one that removes it. */
  readonly onSetBack: (listener: () => void) => () => void;
  /** Counts a handshake as a request of the key. @throws {RequestError} RATE_LIMITED */
  readonly takeQuota: (caller: Caller) => Promise<void>;
  /** Waits until quotes may have changed. */
  readonly nextChange: (signal: AbortSignal) => Promise<void>;
  readonly headers: () => readonly string[];
}

export function addStream(app: FastifyInstance, options: StreamOptions): void {
  const { keys, clock, logger, metrics } = options;
  const keyOf = new WeakMap<QuoteStream, string>();
  const onFault = (err: unknown): void => logger?.error({ err }, "quotes could not be pushed");
  const hub = new QuoteHub({
    ...options,
    refresh: keys.refresh && (() => keys.refresh?.() ?? Promise.resolve()),
    callerOf: (stream) => permittedCaller(keyOf.get(stream), keys),
    onFault,
  });
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: MAX_MESSAGE_BYTES,
    perMessageDeflate: false,
  });
  sockets.on("headers", (lines) => lines.push(...options.headers()));
  for (const path of STREAM_PATHS)
    app.get(path, async () => {
      throw new RequestError("INVALID_PARAMETER", `${path} is a WebSocket: connect with ws:// or wss://`);
    });

  app.server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const path = pathOf(request);
    if (path === undefined) return handBack(app.server, request, socket, head);
    socket.on("error", () => socket.destroy());
    const requestId = randomUUID();
    const key = keyIn(request);
    let caller: Caller | undefined;
    const finish = (status: number): void => {
      metrics.countStream(path, status);
      logger?.info({ requestId, method: "GET", path, key: caller?.name, status }, "request");
    };
    const open = async (): Promise<void> => {
      await keys.refresh?.();
      caller = permittedCaller(key, keys);
      await options.takeQuota(caller);
      // The client may have disconnected, or the service may be closing. Nothing is awaited after this, so no other
      // handshake can come between the count and this connection.
      if (!socket.writable) return;
      if (hub.isClosed) return void socket.destroy();
      checkCount(caller, hub);
      sockets.handleUpgrade(request, socket, head, (webSocket) => {
        const owner = caller as Caller;
        const stream = new QuoteStream(webSocket, { caller: owner, path, clock }, hub.carry, onFault);
        keyOf.set(stream, key ?? "");
        // An error of the client against the protocol closes the connection with a code. It is not a fault of the
        // service.
        webSocket.on("error", () => {});
        webSocket.once("close", (code) => {
          hub.remove(stream);
          metrics.closeStream(stream.sent);
          logger?.info({ requestId, path, key: owner.name, code, quotes: stream.sent }, "stream closed");
        });
        hub.add(stream);
        metrics.openStream();
        finish(101);
      });
    };
    open().catch((error: unknown) => {
      if (!(error instanceof RequestError)) onFault(error);
      if (socket.writable) finish(refuseHandshake(socket, error, requestId));
    });
  });
  app.addHook("preClose", async () => {
    const streams = hub.close(GOING_AWAY, "the service ends");
    const closed = Promise.all(streams.map((stream) => stream.closed));
    const waiting = new AbortController();
    await Promise.race([closed, clock.sleep(CLOSING_MS, waiting.signal).catch(() => {})]);
    waiting.abort();
    for (const stream of streams) stream.terminate();
    await hub.idle();
  });
}

/** The caller of a key that may have a stream. @throws {RequestError} UNAUTHORIZED or FORBIDDEN. */
function permittedCaller(key: string | undefined, keys: KeyRing): Caller {
  const caller = key === undefined ? undefined : keys.callerOf(key);
  if (caller === undefined)
    throw new RequestError("UNAUTHORIZED", `api_key or ${API_KEY_HEADER} is missing or not a known key`);
  if (caller.allow?.has("quotes") === false)
    throw new RequestError("FORBIDDEN", `${caller.name} may not ask for quotes`);
  return caller;
}

function checkCount({ name }: Caller, hub: QuoteHub): void {
  if (hub.count(name) >= MOST_OF_A_KEY)
    throw new RequestError("RATE_LIMITED", `more than ${MOST_OF_A_KEY} streams of ${name}; close one first`);
  if (hub.count() >= MOST_OF_ALL)
    throw new RequestError("RATE_LIMITED", `the service has ${MOST_OF_ALL} streams; try again later`);
}

/** The path of a WebSocket; undefined for another request. */
function pathOf({ url = "", headers, method }: IncomingMessage): StreamPath | undefined {
  if (method !== "GET" || headers.upgrade?.toLowerCase() !== "websocket") return undefined;
  const path = url.split(/[?#]/, 1)[0];
  return STREAM_PATHS.find((one) => one === path);
}

/** The key in the header, else in the URL. Browsers cannot send headers with a handshake. */
function keyIn({ url = "", headers }: IncomingMessage): string | undefined {
  const header = headers[API_KEY_HEADER];
  if (typeof header === "string") return header;
  return new URLSearchParams(url.slice(url.indexOf("?") + 1)).get("api_key") ?? undefined;
}

/** Time between two reads of a lake that is not replayed, in milliseconds. */
const READ_EVERY_MS = 1000;

interface ServiceParts {
  readonly keys: KeyRing;
  readonly clock: Pick<Clock, "now"> & Partial<Clock>;
  readonly logger?: ServiceLogger;
  readonly maxSymbols?: number;
  readonly replay?: Replay;
}

export function streamOptions({
  keys,
  clock,
  logger,
  maxSymbols,
  replay,
}: ServiceParts): Omit<StreamOptions, "reader" | "budgets" | "metrics" | "takeQuota"> {
  const sleep: Clock["sleep"] = (ms, signal) =>
    clock.sleep === undefined ? systemClock.sleep(ms, signal) : clock.sleep(ms, signal);
  return {
    keys,
    clock: { now: () => clock.now(), monotonic: () => ticksOf(clock), sleep },
    logger,
    maxSymbols,
    isReplayed: replay !== undefined,
    onSetBack: (listener) =>
      replay?.clock.onSet((isBack) => {
        if (isBack) listener();
      }) ?? (() => {}),
    nextChange: (signal) =>
      replay === undefined ? sleep(READ_EVERY_MS, signal) : nextMinute(replay.clock, sleep, signal),
    headers: () =>
      replay === undefined ? [] : [`${REPLAY_TIME_HEADER}: ${instantText(replay.clock.now())}`],
  };
}
