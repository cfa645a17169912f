import { Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { ENDPOINTS, type EndpointName } from "../../wire/endpoints.js";
import { ARROW_LINK, ARROW_STREAM } from "../../wire/media-type.js";
import { ArrowResponse } from "../endpoints/arrow-response.js";
import { KlineResponse, StreamedResponse, TextResponse } from "../endpoints/response.js";
import type { Reading } from "../read/lake-reader.js";
import { varyBy } from "./compression.js";
import { disconnectStalled } from "./disconnect-stalled.js";
import type { MemoryBudgets } from "./memory-budget.js";
import { bodyOf, requestLifetime } from "./request-lifetime.js";
import type { ServiceLogger } from "./service-logger.js";

/** A response with its validator. @see responseTag */
interface TaggedResponse {
  readonly tag: string | undefined;
  /** Undefined where the client already has the response. */
  readonly response: ArrowResponse | KlineResponse | StreamedResponse | TextResponse | object | undefined;
}

/** Adds the route of an endpoint. @param give makes the response of a request. */
export function addEndpoint(
  app: FastifyInstance,
  name: EndpointName,
  give: (
    request: FastifyRequest,
    reply: FastifyReply,
    reading: Omit<Reading, "caller">,
  ) => Promise<TaggedResponse>,
  {
    budgets,
    timeoutMs,
    logger,
  }: { budgets: MemoryBudgets; timeoutMs: number; logger: ServiceLogger | undefined },
): void {
  const { method, path } = ENDPOINTS[name];
  app.route({
    method,
    url: path,
    async handler(request, reply) {
      const lifetime = requestLifetime(reply.raw, budgets, timeoutMs);
      const { tag, response } = await lifetime.waitFor(give(request, reply, lifetime.reading));
      varyBy(reply, "accept");
      if (tag !== undefined) void reply.header("etag", tag).header("cache-control", "private, no-cache");
      if (response === undefined) return reply.code(304).send();
      const isArrow = response instanceof ArrowResponse;
      const isStreamed = isArrow || response instanceof KlineResponse || response instanceof StreamedResponse;
      if (!isStreamed) disconnectStalled(reply.raw);
      if (!(isStreamed || response instanceof TextResponse)) return response;
      if (response instanceof KlineResponse) void reply.header("link", ARROW_LINK);
      void reply.type(isArrow ? ARROW_STREAM : "application/json; charset=utf-8");
      if (response instanceof TextResponse) return response.text;
      // The framework would read the whole body of a HEAD response and then drop it.
      if (request.method === "HEAD") return Readable.from([]);
      return bodyOf(reply, response, lifetime, (err) =>
        logger?.error({ requestId: request.id, path, err }, "response broken off"),
      );
    },
  });
}
