import type { FastifyInstance } from "fastify";
import { BALANCE_SHEET, CASH_FLOW, INCOME, METRICS, SHARES } from "../../schema/statements.js";
import { DEPTH_PATHS, ENDPOINTS, type EndpointName } from "../../wire/endpoints.js";
import {
  serveExFactors,
  serveIntraday,
  serveIntradayBatch,
  serveIntradayUniverse,
  serveKlines,
  serveKlinesBatch,
} from "../endpoints/klines.js";
import { quoteHandlers } from "../endpoints/quotes.js";
import {
  serveExchangeInstruments,
  serveExchanges,
  serveInstruments,
  serveInstrumentsBatch,
  serveSymbols,
  serveSymbolsBatch,
  serveUniverse,
  serveUniverses,
  serveUniversesBatch,
} from "../endpoints/reference.js";
import type { EndpointHandler } from "../endpoints/response.js";
import { serveStatements } from "../endpoints/statements.js";
import { type ReadQuoteBars, readQuoteBars } from "../klines/quote-bars.js";
import { openApiDocument } from "../openapi/document.js";
import { documentationPage, frontPage } from "../openapi/page.js";
import { REPLAY_PATH } from "../replay/add-replay.js";
import { STREAM_PATHS } from "../stream/quote-stream.js";
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

/** The handlers of the endpoints that read the lake in the same way with and without a replay. */
const HANDLERS: Readonly<Record<Exclude<EndpointName, "quotes" | "quotesOf">, EndpointHandler>> = {
  intraday: serveIntraday,
  intradayUniverse: serveIntradayUniverse,
  intradayBatch: serveIntradayBatch,
  klinesBatch: serveKlinesBatch,
  klines: serveKlines,
  exFactors: serveExFactors,
  instruments: serveInstruments,
  instrumentsBatch: serveInstrumentsBatch,
  symbols: serveSymbols,
  symbolsBatch: serveSymbolsBatch,
  universes: serveUniverses,
  universe: serveUniverse,
  universesBatch: serveUniversesBatch,
  exchanges: serveExchanges,
  exchangeInstruments: serveExchangeInstruments,
  balanceSheet: serveStatements(BALANCE_SHEET),
  cashFlow: serveStatements(CASH_FLOW),
  income: serveStatements(INCOME),
  metrics: serveStatements(METRICS),
  shares: serveStatements(SHARES),
};

/** The handler of each endpoint. @param readQuotes reads the bars of quotes. @default from the lake */
export function endpointHandlers(
  readQuotes: ReadQuoteBars = readQuoteBars,
): Readonly<Record<EndpointName, EndpointHandler>> {
  return { ...HANDLERS, ...quoteHandlers(readQuotes) };
}

const PUBLIC = [...PUBLIC_PATHS].map((path) => ({ method: "GET", path }));
const DEPTH = DEPTH_PATHS.map((path) => ({ method: "GET", path }));
const STREAMS = STREAM_PATHS.map((path) => ({ method: "GET", path }));
const REPLAY = ["GET", "POST"].map((method) => ({ method, path: REPLAY_PATH }));
const PATHS = [...Object.values(ENDPOINTS), ...DEPTH, ...PUBLIC, ...STREAMS, ...REPLAY].map(
  ({ method, path }) => ({
    method,
    path,
    pattern: new RegExp(`^${path.replaceAll(/:[a-z]+/g, "[^/]+")}$`),
  }),
);

/** The methods that a path supports; empty for an unknown path. Every path with GET also has HEAD. */
export function methodsOf(path: string): string[] {
  const exact = PATHS.filter((one) => one.path === path);
  const found = exact.length > 0 ? exact : PATHS.filter(({ pattern }) => pattern.test(path));
  const methods = found.flatMap(({ method }) => (method === "GET" ? ["GET", "HEAD"] : [method]));
  return [...new Set(methods)];
}
