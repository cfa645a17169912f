import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { ArrowResponse } from "../endpoints/arrow-response.js";
import { type KlineResponse, StreamedResponse } from "../endpoints/response.js";
import type { Reading } from "../read/lake-reader.js";
import { RequestError } from "./errors/request-error.js";
import type { MemoryBudgets } from "./memory-budget.js";

/** Responses with at most this many rows are sent in one piece, with a content length. */
const ROWS_AT_ONCE = 16_384;

/**
 * Bytes of a body that may be buffered for a connection. With less, each column of an Arrow batch would take a system
 * call.
 */
export const PENDING_BYTES = 512 * 1024;

/** Milliseconds after which a client that reads nothing of its response is disconnected. */
const STALLED_MS = 30_000;

/**
 * The abort signal and memory permit of a request. Both end when the response is sent, the client disconnects, or the
 * timeout passes. A client that has not read the whole response by then is disconnected.
 */
export function requestLifetime(
  raw: ServerResponse,
  budgets: MemoryBudgets,
  timeoutMs: number,
): Omit<Reading, "caller"> {
  const controller = new AbortController();
  const { signal } = controller;
  let release: (() => void) | undefined;
  let hasAcquired = false;
  const timer = setTimeout(() => {
    controller.abort(tooSlow(timeoutMs));
    if (raw.headersSent) raw.destroy();
  }, timeoutMs);
  raw.once("close", () => {
    clearTimeout(timer);
    if (!raw.writableFinished) controller.abort();
    release?.();
    release = undefined;
  });
  return {
    signal,
    async acquireMemory(rows) {
      // A request acquires at most one permit. Two requests that each hold one and wait for another would deadlock.
      if (hasAcquired) return;
      hasAcquired = true;
      const permit = await budgets.of(rows).acquire(rows, signal);
      if (raw.closed) permit();
      else release = permit;
    },
  };
}

/** How long a client should wait after a request that took too long, in milliseconds. */
const SLOW_RETRY_MS = 5000;

function tooSlow(timeoutMs: number): RequestError {
  const message = `the lake was not read within ${timeoutMs / 1000} seconds: ask for less, or try again later`;
  return new RequestError("LAKE_UNAVAILABLE", message, SLOW_RETRY_MS);
}

/**
 * Waits for the work of a request until its timeout. A store that does not respond cannot be interrupted, so the work may
 * still run afterwards.
 *
 * @throws {RequestError} LAKE_UNAVAILABLE, after the timeout.
 */
export function withinTimeout<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
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
  onFault: (error: Error) => void,
): Promise<Buffer | Readable> {
  reply.raw.setTimeout(STALLED_MS, () => reply.raw.destroy());
  if (!(response instanceof StreamedResponse) && (response.rows ?? ROWS_AT_ONCE + 1) <= ROWS_AT_ONCE) {
    const { buffer, byteOffset, byteLength } = await response.bytes();
    return Buffer.from(buffer, byteOffset, byteLength);
  }
  if ("byteLength" in response && response.byteLength !== undefined)
    void reply.header("content-length", response.byteLength);
  return Readable.from(response.pieces()).once("error", onFault);
}
