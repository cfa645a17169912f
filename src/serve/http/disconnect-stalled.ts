import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { onResponseEnd } from "./response-end.js";

/** Milliseconds after which a client that reads nothing of its response is disconnected. */
const STALLED_MS = 60_000;
/** How often a client is looked at within that time: so much of it more may pass. */
const CHECKS = 6;

/**
 * Disconnects a client that takes no byte of its response for some time although there are bytes for it; at the latest
 * a sixth of that time later. What a client has taken is seen only when the system takes over more bytes, on Linux when a
 * third of its send buffer is free (at most 1.4 MB): the time must suffice a slow client for so much.
 *
 * The timeout of a socket does not do that: Node restarts it once if any part of the last write has left, also where
 * that was at the beginning of the time, and it also runs while the service has nothing to send.
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
 * How many bytes of a socket the system has taken over to send. Only the internal handle knows how many bytes of a write
 * are still waiting: without it, a write counts when it is completed.
 */
function bytesTaken(socket: Socket): number {
  const { _handle: handle } = socket as {
    readonly _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number } | null;
  };
  if (handle?.bytesWritten === undefined || handle.writeQueueSize === undefined)
    return socket.bytesWritten - socket.writableLength;
  return handle.bytesWritten - handle.writeQueueSize;
}
