import type { FastifyReply, FastifyRequest } from "fastify";
import { methodsOf } from "../routes.js";
import { RequestError } from "./request-error.js";

/** @throws {RequestError} always: the interface does not have the path, or the path does not support the method. */
export function refusePath(request: FastifyRequest, reply: FastifyReply): never {
  const methods = methodsOf(pathOf(request));
  if (methods.length === 0) throw new RequestError("NOT_FOUND", "path is not one of the interface's");
  void reply.header("allow", methods.join(", "));
  throw new RequestError(
    "METHOD_NOT_ALLOWED",
    `method ${request.method} is not one of ${methods.join(", ")}`,
  );
}

function pathOf(request: FastifyRequest): string {
  return request.url.split(/[?#]/, 1)[0] ?? "";
}
