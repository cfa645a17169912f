import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { ArrowResponse } from "../endpoints/arrow-response.js";
import { type KlineResponse, StreamedResponse } from "../endpoints/response.js";
import type { Reading } from "../read/lake-reader.js";
import type { MemoryBudgets } from "./memory-budget.js";

/** Responses of at most this many rows are sent whole, with a content length. */
const ROWS_AT_ONCE = 16_384;

/** Bytes of a body that may wait for a connection: less would mean a system call for each column of an Arrow batch. */
export const PENDING_BYTES = 512 * 1024;

/** Milliseconds after which a client that reads nothing of its response is disconnected. */
const STALLED_MS = 30_000;

/**
 * The abort signal and memory permit of a request. They end when the response is sent, the client disconnects, or the
 * time is up. A client that has not read the whole response by then is disconnected.
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
    controller.abort();
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
      // A request acquires at most one permit: two requests that each wait for a second one would deadlock.
      if (hasAcquired) return;
      hasAcquired = true;
      const permit = await budgets.of(rows).acquire(rows, signal);
      if (raw.closed) permit();
      else release = permit;
    },
  };
}

/** The body of a reply: whole if it has few bars, else in pieces as the client reads them. */
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
