import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import type { EventClock } from "../../clock/event-clock.js";
import { cutAfter, html, json, truncated } from "../../service/scripted-server.js";
import type { Endless, Fault } from "../fault-schedule.js";

/** Limits of the client in these schedules, so that an endless body is soon aborted. */
export const CLIENT_LIMITS = { maxResponseMs: 120_000, maxBodyBytes: 16 * 1024 ** 2 };

/** How a body continues after the response: the bytes of one piece, and the wait after it. */
const ON: Readonly<Record<Endless, { readonly bytes: number; readonly everyMs: number }>> = {
  trickle: { bytes: 1, everyMs: 5000 },
  "endless body": { bytes: 64 * 1024, everyMs: 15_000 },
  flood: { bytes: 2 * 1024 ** 2, everyMs: 0 },
};
/** Number of pieces of a slow body, and the wait between two of them. */
const PIECES = 3;
const PIECE_MS = 20_000;

/** Sends an invalid or incomplete response. @param bytes of the body that are sent before the cut. */
export function sendBroken(response: ServerResponse, fault: Fault, body: string, bytes: number): void {
  switch (fault) {
    case "reset":
      return void response.destroy();
    case "cut body":
      return cutAfter(response, body, bytes);
    case "short body":
      return truncated(response, body, bytes);
    case "html 200":
      return html(response, 200);
    case "html 502":
      return html(response, 502);
    case "error 200":
      return json(response, 200, { code: "INTERNAL", message: "not well" });
    case "error 500":
      return json(response, 500, { code: "INTERNAL", message: "not well" });
    case "error 503":
      return json(response, 503, { code: "OVERLOADED", message: "later" });
  }
}

/** Sends a body in pieces, with waits in between. @param onPiece called when the first piece is on its way. */
export async function sendSlowly(
  response: ServerResponse,
  text: string,
  clock: EventClock,
  onPiece: () => void,
): Promise<void> {
  const body = Buffer.from(text);
  response.writeHead(200, { "content-type": "application/json", "content-length": String(body.length) });
  for (let piece = 0; piece < PIECES; piece++) {
    if (piece > 0) await clock.delay(PIECE_MS);
    const [from, to] = [piece, piece + 1].map((n) => Math.floor((body.length * n) / PIECES));
    response.write(body.subarray(from, to));
    if (piece === 0) onPiece();
  }
  response.end();
}

/** Sends a correct body, and then spaces until the client breaks the connection. */
export async function sendEndlessly(
  response: ServerResponse,
  kind: Endless,
  body: string,
  clock: EventClock,
): Promise<void> {
  const { bytes, everyMs } = ON[kind];
  const more = Buffer.alloc(bytes, " ");
  const broken = new AbortController();
  response.once("close", () => broken.abort());
  // The client may break the connection while a piece is on its way.
  response.on("error", () => broken.abort());
  response.writeHead(200, { "content-type": "application/json" });
  response.write(body);
  while (!broken.signal.aborted) {
    const waits = everyMs > 0 ? clock.delay(everyMs, broken.signal) : turn();
    await waits.catch(() => {});
    if (!broken.signal.aborted && !response.write(more))
      await once(response, "drain", { signal: broken.signal }).catch(() => {});
  }
}
