import { pipeline, Readable, type Transform } from "node:stream";
import { promisify } from "node:util";
import * as zlib from "node:zlib";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { BALANCE_SHEET, CASH_FLOW, INCOME, METRICS, SHARES } from "../../schema/statements.js";
import { DEPTH_PATHS, ENDPOINTS, type EndpointName } from "../../wire/endpoints.js";
import { ARROW_LINK, ARROW_STREAM } from "../../wire/media-type.js";
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
import { ArrowResponse, KlineResponse, StreamedResponse, TextResponse } from "../endpoints/response.js";
import { serveStatements } from "../endpoints/statements.js";
import { type ReadQuoteBars, readQuoteBars } from "../klines/quote-bars.js";
import { openApiDocument } from "../openapi/document.js";
import { documentationPage, frontPage } from "../openapi/page.js";
import type { Reading } from "../read/lake-reader.js";
import { REPLAY_PATH } from "../replay/add-replay.js";
import { STREAM_PATHS } from "../stream/quote-stream.js";
import type { MemoryBudgets } from "./memory-budget.js";
import { bodyOf, disconnectStalled, requestLifetime } from "./request-lifetime.js";
import type { ServiceLogger, ServiceMetrics } from "./service-metrics.js";

/** Paths that need no key: they reveal nothing about the lake. */
export const PUBLIC_PATHS: ReadonlySet<string> = new Set([
  "/",
  "/health",
  "/healthz",
  "/metrics",
  "/openapi.json",
  "/docs",
]);

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

/** Bodies below this number of bytes are not compressed: they fit into one packet. */
const LEAST_BYTES = 1400;
/** The fastest level: K-lines shrink to a third. The best level takes ten times as long to save another tenth. */
const LEVEL = 1;

interface Coding {
  readonly whole: (body: Buffer | string) => Promise<Buffer>;
  readonly pieces: () => Transform;
}

/** The functions that `node:zlib` has since Node 22.15. The installed types are those of the oldest supported Node. */
interface Zstd {
  readonly zstdCompress: typeof zlib.brotliCompress;
  readonly createZstdCompress: typeof zlib.createBrotliCompress;
  readonly constants: { readonly ZSTD_c_compressionLevel: number };
}

/** The codings that this Node supports, by name, the fastest first. */
export const CODINGS: ReadonlyMap<string, Coding> = new Map([...zstdOf(zlib), ["gzip", gzipCoding()]]);

function gzipCoding(): Coding {
  const compress = promisify<zlib.InputType, zlib.ZlibOptions, Buffer>(zlib.gzip);
  return {
    whole: (body) => compress(body, { level: LEVEL }),
    pieces: () => zlib.createGzip({ level: LEVEL }),
  };
}

function zstdOf(node: object): [string, Coding][] {
  const { zstdCompress, createZstdCompress, constants } = node as Partial<Zstd>;
  if (zstdCompress === undefined || createZstdCompress === undefined || constants === undefined) return [];
  const options = { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } };
  const compress = promisify<zlib.InputType, zlib.BrotliOptions, Buffer>(zstdCompress);
  return [["zstd", { whole: (body) => compress(body, options), pieces: () => createZstdCompress(options) }]];
}

/** Compresses bodies for clients that accept it, off the main thread. */
export function addCompression(app: FastifyInstance): void {
  app.addHook("onSend", async (request, reply, payload) => {
    const isWhole = typeof payload === "string" || Buffer.isBuffer(payload);
    if (isWhole ? payload.length < LEAST_BYTES : !(payload instanceof Readable)) return payload;
    varyBy(reply, "accept-encoding");
    const name = acceptedCoding(request.headers["accept-encoding"], [...CODINGS.keys()]);
    const coding = CODINGS.get(name ?? "");
    if (name === undefined || coding === undefined) return payload;
    void reply.header("content-encoding", name);
    if (!isWhole) {
      void reply.removeHeader("content-length");
      // When the body is aborted, the compressed stream is destroyed, and with it the connection.
      return pipeline(payload as Readable, coding.pieces(), () => {});
    }
    const body = await coding.whole(payload);
    void reply.header("content-length", body.length);
    return body;
  });
}

function varyBy(reply: FastifyReply, header: string): void {
  const said = reply.getHeader("vary");
  void reply.header("vary", said === undefined ? header : `${String(said)}, ${header}`);
}

/**
 * The coding for an `accept-encoding` header (RFC 9110): the one with the greatest weight above 0; of several with the
 * same weight, the first one that is offered. `*` selects gzip, which every client that decodes anything can decode.
 * Undefined: the body is not compressed.
 */
export function acceptedCoding(
  header: string | string[] | undefined,
  offered: readonly string[],
): string | undefined {
  const weights = new Map<string, number>();
  for (const part of String(header ?? "")
    .toLowerCase()
    .split(",")) {
    const [coding = "", ...parameters] = part.split(";").map((text) => text.trim());
    const weight = Number(parameters.find((text) => text.startsWith("q="))?.slice(2) ?? 1);
    weights.set(coding === "x-gzip" ? "gzip" : coding, weight);
  }
  const weightOf = (name: string): number =>
    weights.get(name) ?? (name === "gzip" ? weights.get("*") : undefined) ?? 0;
  const most = Math.max(...offered.map(weightOf).filter((weight) => weight > 0));
  return offered.find((name) => weightOf(name) === most);
}

/** @see responseTag */
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
