import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { LentMemory } from "../../core/memory-pool.js";
import type { ArrowResponse } from "../endpoints/arrow-response.js";
import { KlineResponse, StreamedResponse } from "../endpoints/response.js";
import type { Reading } from "../read/lake-reader.js";
import { disconnectStalled } from "./disconnect-stalled.js";
import { RequestError } from "./errors/request-error.js";
import type { MemoryBudgets } from "./memory-budget.js";

/** Responses with at most this many rows are sent in one piece, with a content length. */
const ROWS_AT_ONCE = 16_384;

/**
 * Bytes of a body that may be buffered for a connection. With less, each column of an Arrow batch would take a system
 * call.
 */
export const PENDING_BYTES = 512 * 1024;

/**
 * Milliseconds after a response for which work that goes on keeps its memory permit. DuckDB tries a request to a store
 * again after its timeout, for longer than this only where each attempt hangs. The limit is for such a store: it must
 * not occupy the whole budget for ever.
 */
const LATE_WORK_MS = 60_000;

/** The abort signal and memory permit of a request, and its work. */
export interface RequestLifetime {
  readonly reading: Omit<Reading, "caller">;
  /** Memory for the body. */
  readonly memory: LentMemory;
  /**
   * Waits for work of the request until its timeout. A read of a store that does not respond cannot be interrupted, so
   * the work may still run afterwards.
   *
   * @throws {RequestError} LAKE_UNAVAILABLE, after the timeout.
   */
  readonly waitFor: <T>(work: Promise<T>) => Promise<T>;
  /** The pieces of the body: to make them is work of the request, too. */
  readonly pieces: <T>(pieces: AsyncIterable<T>) => AsyncGenerator<T>;
}

/**
 * The signal aborts when the client disconnects, or the timeout passes. A client that has not read the whole response
 * by then is disconnected. The permit is released when the response has ended and the work has too.
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
 * Resolves when the responses before this one on its connection have ended. Until then, no byte of it can be sent: with
 * a permit it could block the responses that it waits for.
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
