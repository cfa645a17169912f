import { EventEmitter, once } from "node:events";
import type { FastifyInstance } from "fastify";

/** The requests of a service that have no complete response yet. */
export interface RequestsInFlight {
  readonly count: number;
  /** Waits until there are none. @throws an error once the signal has aborted. */
  none(signal: AbortSignal): Promise<void>;
}

/** Counts the requests in flight. */
export function addRequestsInFlight(app: FastifyInstance): RequestsInFlight {
  const changes = new EventEmitter();
  let count = 0;
  app.addHook("onRequest", async (_, reply) => {
    count += 1;
    reply.raw.once("close", () => {
      count -= 1;
      if (count === 0) changes.emit("none");
    });
  });
  return {
    get count() {
      return count;
    },
    async none(signal) {
      signal.throwIfAborted();
      while (count > 0) await once(changes, "none", { signal });
    },
  };
}
