import type { FastifyInstance } from "fastify";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { processMetrics, withProcessMetrics } from "../../lake/local/process-metrics.js";

/** The log of a service. A pino logger has these methods. */
export interface ServiceLogger {
  info(facts: object, message: string): void;
  error(facts: object, message: string): void;
}

export interface ServiceMetrics {
  text(): Promise<string>;
  readonly contentType: string;
  countStream(endpoint: string, status: number): void;
  openStream(): void;
  /** @param quotes number of quotes that were sent on the connection. */
  closeStream(quotes: number): void;
}

/** Upper bounds of the duration histogram's buckets, in seconds. */
const BUCKETS = [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** Counts the requests of a service by endpoint; unknown paths share one label. */
export function serviceMetrics(app: FastifyInstance): ServiceMetrics {
  const registry = new Registry();
  const registers = [registry];
  processMetrics();
  const requests = new Counter({
    name: "barlake_service_requests_total",
    help: "Requests that were answered, by endpoint and status.",
    labelNames: ["endpoint", "status"],
    registers,
  });
  const durations = new Histogram({
    name: "barlake_service_request_duration_seconds",
    help: "Time from a request to the end of its response, by endpoint.",
    labelNames: ["endpoint"],
    buckets: BUCKETS,
    registers,
  });
  const requestLifetime = new Gauge({
    name: "barlake_service_requests_in_flight",
    help: "Requests that are being answered.",
    registers,
  });
  const sent = new Counter({
    name: "barlake_service_sent_bytes_total",
    help: "Bytes that were sent, headers included, by endpoint.",
    labelNames: ["endpoint"],
    registers,
  });
  const streams = new Gauge({
    name: "barlake_service_streams",
    help: "Open WebSocket connections.",
    registers,
  });
  const quotes = new Counter({
    name: "barlake_service_stream_quotes_total",
    help: "Quotes that were pushed over WebSocket connections that are closed.",
    registers,
  });
  const sentBefore = new WeakMap<object, number>();
  app.addHook("onRequest", async (request, reply) => {
    requestLifetime.inc();
    sentBefore.set(request, request.socket.bytesWritten);
    reply.raw.once("close", () => requestLifetime.dec());
  });
  app.addHook("onResponse", async (request, reply) => {
    const { url } = request.routeOptions;
    const endpoint = url === undefined ? "none" : `${request.method} ${url}`;
    requests.inc({ endpoint, status: String(reply.statusCode) });
    durations.observe({ endpoint }, reply.elapsedTime / 1000);
    sent.inc({ endpoint }, Math.max(0, request.socket.bytesWritten - (sentBefore.get(request) ?? 0)));
  });
  return {
    contentType: registry.contentType,
    text: () => withProcessMetrics(registry),
    countStream: (endpoint, status) => requests.inc({ endpoint: `GET ${endpoint}`, status: String(status) }),
    openStream: () => streams.inc(),
    closeStream: (pushed) => {
      streams.dec();
      quotes.inc(pushed);
    },
  };
}
