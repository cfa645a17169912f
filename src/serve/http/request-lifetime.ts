import { EventEmitter, once } from "node:events";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply } from "fastify";
import { LentMemory } from "../../core/memory-pool.js";
import { type ArrowResponse, KlineResponse, StreamedResponse } from "../endpoints/response.js";
import type { Reading } from "../read/lake-reader.js";
import type { MemoryBudgets } from "./memory-budget.js";
import { RequestError } from "./request-error.js";

/** What waits for the end of each connection. */
const ofConnections = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls back once, when a response or its connection has ended: at once where that is so already. Node 20 does not emit
 * the `close` of a response whose connection ends while it waits for those before it.
 */
export function onResponseEnd(response: ServerResponse, callback: () => void): void {
  const { socket } = response.req;
  if (response.closed || socket.destroyed) return callback();
  const waiting = waitingFor(socket);
  const end = (): void => {
    if (waiting.delete(end)) callback();
  };
  waiting.add(end);
  response.once("close", end);
}

/** One listener for all responses of a connection: a client may send any number of requests at once. */
function waitingFor(socket: Socket): Set<() => void> {
  const known = ofConnections.get(socket);
  if (known !== undefined) return known;
  const waiting = new Set<() => void>();
  ofConnections.set(socket, waiting);
  socket.once("close", () => {
    for (const end of waiting) end();
  });
  return waiting;
}

/** Milliseconds after which a client that reads nothing of its response is disconnected. */
const STALLED_MS = 60_000;
/** How often a client is looked at within that time: so much of it more may pass. */
const CHECKS = 6;

/**
 * Disconnects a client that takes no byte of its response for some time, and at most a sixth more, although there are
 * bytes for it. What a client has taken is seen only when the system takes over more bytes, on Linux when a third of
 * its send buffer is free (at most 1.4 MB): the time must suffice a slow client for so much. The timeout of a socket
 * does not do that: Node restarts it once if any part of the last write has left, and it also runs while there is
 * nothing to send.
 */
export function disconnectStalled(response: ServerResponse, stalledMs = STALLED_MS): void {
  let before = -1;
  let checks = 0;
  const check = setInterval(() => {
    const { socket } = response;
    // Before the turn of a response on its connection, there is no socket.
    if (socket === null) return;
    const taken = bytesTaken(socket);
    checks = taken === before && response.writableLength > 0 ? checks + 1 : 0;
    before = taken;
    if (checks >= CHECKS) response.destroy();
  }, stalledMs / CHECKS).unref();
  onResponseEnd(response, () => clearInterval(check));
}

/**
 * How many bytes of a socket the system has taken over. Only the internal handle knows how many bytes of a write are
 * still waiting: without it, a write counts when it is completed.
 */
function bytesTaken(socket: Socket): number {
  const { _handle: handle } = socket as {
    readonly _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number } | null;
  };
  if (handle?.bytesWritten === undefined || handle.writeQueueSize === undefined)
    return socket.bytesWritten - socket.writableLength;
  return handle.bytesWritten - handle.writeQueueSize;
}

/** The requests of a service that have no complete response yet, and whose connection is open. */
export interface RequestsInFlight {
  readonly count: number;
  /** Waits until there are none. @throws an error once the signal has aborted. */
  none(signal: AbortSignal): Promise<void>;
}

export function addRequestsInFlight(app: FastifyInstance): RequestsInFlight {
  const changes = new EventEmitter();
  const requests = new Set<object>();
  app.addHook("onRequest", async (_, reply) => {
    requests.add(reply);
    onResponseEnd(reply.raw, () => {
      requests.delete(reply);
      if (requests.size === 0) changes.emit("none");
    });
  });
  return {
    get count() {
      return requests.size;
    },
    async none(signal) {
      signal.throwIfAborted();
      while (requests.size > 0) await once(changes, "none", { signal });
    },
  };
}

/**
 * Ends keep-alive connections after their last response; otherwise closing the service would wait for the clients. Node
 * counts a connection as idle as soon as its response is written, even if the network has not taken all of it.
 */
export function addConnectionDraining(app: FastifyInstance): void {
  const { server } = app;
  const responses = new Set<ServerResponse>();
  let isClosing = false;
  const closeIdleConnections = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    if (![...responses].some(isBeingSent)) closeIdleConnections();
  };
  server.on("request", (_request, response: ServerResponse) => {
    responses.add(response);
    onResponseEnd(response, () => {
      responses.delete(response);
      if (isClosing) setImmediate(() => server.closeIdleConnections());
    });
  });
  app.addHook("preClose", async () => {
    isClosing = true;
  });
  app.addHook("onSend", async (_request, reply) => {
    if (isClosing) void reply.header("connection", "close");
  });
}

/** Whether a response is written but not completely sent. */
function isBeingSent({ writableEnded, writableFinished }: ServerResponse): boolean {
  return writableEnded && !writableFinished;
}

/** Responses with at most this many rows are sent in one piece, with a content length. */
const ROWS_AT_ONCE = 16_384;

/** Bytes of a body that a connection may buffer. With less, each column of an Arrow batch would take a system call. */
export const PENDING_BYTES = 512 * 1024;

/**
 * How long work that goes on after a response keeps its memory permit. DuckDB tries a request to a store again after
 * its timeout, for longer than this only where each attempt hangs: such a store must not occupy the whole budget for
 * ever.
 */
const LATE_WORK_MS = 60_000;

/** The abort signal and memory permit of a request, and its work. */
export interface RequestLifetime {
  readonly reading: Omit<Reading, "caller">;
  readonly memory: LentMemory;
  /**
   * Waits for work until the timeout. A read of a store that does not respond cannot be interrupted, so the work may
   * still run afterwards. @throws {RequestError} LAKE_UNAVAILABLE, after the timeout.
   */
  readonly waitFor: <T>(work: Promise<T>) => Promise<T>;
  /** The pieces of the body: to make them is work of the request, too. */
  readonly pieces: <T>(pieces: AsyncIterable<T>) => AsyncGenerator<T>;
}

/**
 * The signal aborts when the client disconnects, or the timeout passes: a client that has not read all by then is
 * disconnected. The permit is released when the response has ended and the work has too.
 */
export function requestLifetime(
  raw: ServerResponse,
  budgets: MemoryBudgets,
  timeoutMs: number,
): RequestLifetime {
  const controller = new AbortController();
  const { signal } = controller;
  let permit: Disposable | undefined;
  let hasAcquired = false;
  let running = 0;
  let late: NodeJS.Timeout | undefined;
  const release = (): void => {
    clearTimeout(late);
    permit?.[Symbol.dispose]();
    permit = undefined;
  };
  const ended = (): void => {
    running -= 1;
    if (running === 0 && raw.closed) release();
  };
  const timer = setTimeout(() => {
    controller.abort(tooSlow(timeoutMs));
    if (raw.headersSent) raw.destroy();
  }, timeoutMs);
  raw.once("close", () => {
    clearTimeout(timer);
    if (!raw.writableFinished) controller.abort();
    if (running === 0) release();
    else late = setTimeout(release, LATE_WORK_MS).unref();
  });
  return {
    memory: new LentMemory(budgets.pool),
    reading: {
      signal,
      memory: new LentMemory(budgets.pool),
      async acquireMemory(rows) {
        // A request acquires at most one permit. Two requests that each hold one and wait for another would deadlock.
        if (hasAcquired) return;
        hasAcquired = true;
        await ownTurn(raw, signal);
        permit = await budgets.take(rows, signal);
        if (raw.closed && running === 0) release();
      },
    },
    waitFor(work) {
      running += 1;
      work.then(ended, ended);
      return withinTimeout(work, signal);
    },
    async *pieces(pieces) {
      running += 1;
      try {
        yield* pieces;
      } finally {
        ended();
      }
    },
  };
}

/**
 * Resolves when the responses before this one on its connection have ended: no byte can be sent until then, so that
 * with a permit it could block the responses that it waits for.
 */
async function ownTurn(raw: ServerResponse, signal: AbortSignal): Promise<void> {
  if (raw.socket === null) await once(raw, "socket", { signal });
}

/** How long a client should wait after a request that took too long, in milliseconds. */
const SLOW_RETRY_MS = 5000;

function tooSlow(timeoutMs: number): RequestError {
  const message = `the lake was not read within ${timeoutMs / 1000} seconds: ask for less, or try again later`;
  return new RequestError("LAKE_UNAVAILABLE", message, SLOW_RETRY_MS);
}

function withinTimeout<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    // After a client has disconnected, nobody gets the error: the work ends by itself.
    const stop = (): void => {
      if (signal.reason instanceof RequestError) reject(signal.reason);
    };
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}

/** The body of a reply: in one piece if it has few bars, else in pieces while the client reads them. */
export async function bodyOf(
  reply: FastifyReply,
  response: ArrowResponse | KlineResponse | StreamedResponse,
  { pieces, reading, memory }: RequestLifetime,
  onFault: (error: Error) => void,
): Promise<Buffer | Readable> {
  disconnectStalled(reply.raw);
  if (!(response instanceof StreamedResponse) && (response.rows ?? ROWS_AT_ONCE + 1) <= ROWS_AT_ONCE) {
    if (!(response instanceof KlineResponse)) {
      const copied = await response.bytes();
      reading.memory?.giveBack();
      return copied;
    }
    const body = response.bytes(memory.take);
    // The bars are in the body now.
    reading.memory?.giveBack();
    // If the response is broken off, the socket may still read the body.
    reply.raw.once("finish", () => memory.giveBack());
    return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  }
  // Pieces may be in the memory of the bars.
  reply.raw.once("finish", () => reading.memory?.giveBack());
  if ("byteLength" in response && response.byteLength !== undefined)
    void reply.header("content-length", response.byteLength);
  return Readable.from(pieces<Uint8Array | string>(response.pieces())).once("error", onFault);
}
