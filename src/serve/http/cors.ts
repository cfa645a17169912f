import cors from "@fastify/cors";
import type { FastifyInstance } from "fastify";
import { API_KEY_HEADER, ENDPOINTS } from "../../wire/endpoints.js";

/** Headers of a response that a page's script may read. */
const EXPOSED = ["etag", "retry-after", "x-replay-time", "x-request-id"];
/** Seconds for which a browser caches the response to a preflight: Chromium's limit. */
const MAX_AGE_S = 7200;

/**
 * Permits pages of other origins to call the service. Without origins it adds nothing, so that browsers block such
 * calls.
 */
export async function addCors(app: FastifyInstance, origins: readonly string[]): Promise<void> {
  if (origins.length === 0) return;
  await app.register(cors, {
    origin: origins.includes("*") ? "*" : [...origins],
    methods: [...new Set(Object.values(ENDPOINTS).map(({ method }) => method))],
    allowedHeaders: [API_KEY_HEADER, "content-type", "if-none-match"],
    exposedHeaders: EXPOSED,
    maxAge: MAX_AGE_S,
    strictPreflight: false,
  });
}
