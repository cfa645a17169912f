import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** What waits for the end of each connection. */
const ofConnections = new WeakMap<Socket, Set<() => void>>();

/**
 * Calls back once, when a response has ended, or its connection has: at once where that is so already. Node 20 does not
 * emit the `close` of a response whose connection ends while the response waits for those before it.
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
