import { EventEmitter, once } from "node:events";
import type { FastifyInstance } from "fastify";
import { onResponseEnd } from "./response-end.js";

/** The requests of a service that have no complete response yet, and whose connection is open. */
export interface RequestsInFlight {
  readonly count: number;
  /** Waits until there are none. @throws an error once the signal has aborted. */
  none(signal: AbortSignal): Promise<void>;
}

/** Counts the requests in flight. */
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
