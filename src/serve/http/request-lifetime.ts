import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { KlineResponse } from "../endpoints/response.js";
import type { Reading } from "../read/lake-reader.js";
import { MemoryBudget } from "./memory-budget.js";

/** Answers of more rows wait in a line of their own: they hold no short ones up. */
const SHORT_ROWS = 50_000;
/** Rows of the answers under way: about 90 bytes each. The second is that of one answer as large as there can be. */
const ROOM_OF_SHORT = 500_000;
const ROOM_OF_LONG = 1_200_000;

/** Answers of at most so many rows are written at once, and say how long they are. */
const ROWS_AT_ONCE = 16_384;

/** How long a client may take nothing of its answer. */
const STALLED_MS = 30_000;

/** The rooms of a service's answers. */
export class MemoryBudgets {
  readonly #short = new MemoryBudget(ROOM_OF_SHORT);
  readonly #long = new MemoryBudget(ROOM_OF_LONG);

  of(rows: number): MemoryBudget {
    return rows > SHORT_ROWS ? this.#long : this.#short;
  }
}

/**
 * What a request may do until it is over: its answer sent, its client gone, or its time up. Whoever has not taken the
 * whole answer by then is disconnected.
 */
export function requestLifetime(
  raw: ServerResponse,
  budgets: MemoryBudgets,
  timeoutMs: number,
): Omit<Reading, "caller"> {
  const controller = new AbortController();
  const { signal } = controller;
  let free: (() => void) | undefined;
  let isIn = false;
  const timer = setTimeout(() => {
    controller.abort();
    if (raw.headersSent) raw.destroy();
  }, timeoutMs);
  raw.once("close", () => {
    clearTimeout(timer);
    if (!raw.writableFinished) controller.abort();
    free?.();
    free = undefined;
  });
  return {
    signal,
    async admit(rows) {
      // One that is in waits for nobody: two of them could wait for each other.
      if (isIn) return;
      isIn = true;
      const leave = await budgets.of(rows).take(rows, signal);
      if (raw.closed) leave();
      else free = leave;
    },
  };
}

/** Bars as what a reply is sent: whole, or piece by piece as the client takes them. */
export function bodyOf(
  reply: FastifyReply,
  response: KlineResponse,
  onFault: (error: Error) => void,
): Buffer | Readable {
  reply.raw.setTimeout(STALLED_MS, () => reply.raw.destroy());
  if (response.rows <= ROWS_AT_ONCE) {
    const { buffer, byteOffset, byteLength } = response.bytes();
    return Buffer.from(buffer, byteOffset, byteLength);
  }
  return Readable.from(response.pieces()).once("error", onFault);
}
