import type { FastifyInstance } from "fastify";
import { openApiDocument } from "../openapi/document.js";
import { documentationPage, frontPage } from "../openapi/page.js";
import type { ServiceMetrics } from "./service-metrics.js";

/** Paths that need no key: they reveal nothing about the lake. */
export const PUBLIC_PATHS: ReadonlySet<string> = new Set([
  "/",
  "/health",
  "/healthz",
  "/metrics",
  "/openapi.json",
  "/docs",
]);

/** Adds the front page, the health check, the metrics, the OpenAPI document and its human-readable page. */
export function addPublicPages(app: FastifyInstance, metrics: ServiceMetrics): void {
  const document = openApiDocument();
  for (const path of ["/health", "/healthz"]) app.get(path, () => ({ status: "ok" }));
  app.get("/metrics", async (_, reply) => reply.type(metrics.contentType).send(await metrics.text()));
  app.get("/openapi.json", () => document);
  for (const [path, content] of [
    ["/", frontPage()],
    ["/docs", documentationPage(document)],
  ] as const)
    app.get(path, (_, reply) =>
      reply
        .type("text/html; charset=utf-8")
        .header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'")
        .send(content),
    );
}
