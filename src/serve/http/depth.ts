import type { FastifyInstance } from "fastify";
import { DEPTH_PATHS } from "../../wire/endpoints.js";
import { RequestError } from "./errors/request-error.js";

/** Adds the endpoints of order books. A lake has none, so they always refuse requests. */
export function addDepth(app: FastifyInstance): void {
  for (const url of DEPTH_PATHS)
    app.get(url, async () => {
      throw new RequestError("NO_DEPTH_PERMISSION", "a lake has no order books");
    });
}
