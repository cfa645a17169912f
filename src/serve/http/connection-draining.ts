import type { ServerResponse } from "node:http";
import type { FastifyInstance } from "fastify";
import { onResponseEnd } from "./response-end.js";

/**
 * Ends keep-alive connections after their last response; otherwise closing the service would wait for the clients to
 * close them. Node counts a connection as idle as soon as its response is written, even if the network has not taken
 * all of it. So idle connections are ended only while no response is in that state.
 */
export function addConnectionDraining(app: FastifyInstance): void {
  const { server } = app;
  const responses = new Set<ServerResponse>();
  let isClosing = false;
  const closeIdleConnections = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    if (![...responses].some(isBeingSent)) closeIdleConnections();
  };
  server.on("request", (_request, response: ServerResponse) => {
    responses.add(response);
    onResponseEnd(response, () => {
      responses.delete(response);
      if (isClosing) setImmediate(() => server.closeIdleConnections());
    });
  });
  app.addHook("preClose", async () => {
    isClosing = true;
  });
  app.addHook("onSend", async (_request, reply) => {
    if (isClosing) void reply.header("connection", "close");
  });
}

/** Whether a response is written but not completely sent. */
function isBeingSent({ writableEnded, writableFinished }: ServerResponse): boolean {
  return writableEnded && !writableFinished;
}
