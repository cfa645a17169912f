import type { FastifyInstance } from "fastify";
import type { ServiceLogger } from "../service-logger.js";
import { refusePath } from "./refuse-path.js";
import { responseOf } from "./request-error.js";

/** Responds to errors and unknown paths with the error bodies of the interface. */
export function addErrors(app: FastifyInstance, logger: ServiceLogger | undefined): void {
  app.setErrorHandler((error, request, reply) => {
    const { status, body, retryAfterMs, isFault } = responseOf(error, request.id);
    if (isFault)
      logger?.error({ requestId: request.id, path: request.routeOptions.url, err: error }, "request failed");
    if (retryAfterMs !== undefined) void reply.header("retry-after", String(Math.ceil(retryAfterMs / 1000)));
    return reply.code(status).send(body);
  });
  app.setNotFoundHandler(refusePath);
}
