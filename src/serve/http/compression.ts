import { pipeline, Readable } from "node:stream";
import { promisify } from "node:util";
import { createGzip, gzip } from "node:zlib";
import type { FastifyInstance, FastifyReply } from "fastify";

const compressed = promisify(gzip);
/** Shorter bodies fit into one packet without compression. */
const LEAST_BYTES = 1400;
/** The fastest level: K-lines shrink to a third. The best level takes ten times as long to save another tenth. */
const LEVEL = 1;

/** Compresses bodies for clients that accept it, off the main thread. */
export function addCompression(app: FastifyInstance): void {
  app.addHook("onSend", async (request, reply, payload) => {
    const isWhole = typeof payload === "string" || Buffer.isBuffer(payload);
    if (isWhole ? payload.length < LEAST_BYTES : !(payload instanceof Readable)) return payload;
    varyBy(reply, "accept-encoding");
    if (!acceptsGzip(request.headers["accept-encoding"])) return payload;
    if (!isWhole) {
      void reply.header("content-encoding", "gzip").removeHeader("content-length");
      // An aborted body destroys the compressed stream, and with it the connection.
      return pipeline(payload as Readable, createGzip({ level: LEVEL }), () => {});
    }
    const body = await compressed(payload, { level: LEVEL });
    void reply.header("content-encoding", "gzip").header("content-length", body.length);
    return body;
  });
}

/** Adds a header of the request to those that the response depends on. */
export function varyBy(reply: FastifyReply, header: string): void {
  const said = reply.getHeader("vary");
  void reply.header("vary", said === undefined ? header : `${String(said)}, ${header}`);
}

/** Whether an `accept-encoding` header permits gzip (RFC 9110): by name or by `*`, with a weight above 0. */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  const weights = new Map<string, number>();
  for (const part of String(header ?? "")
    .toLowerCase()
    .split(",")) {
    const [coding = "", ...parameters] = part.split(";").map((text) => text.trim());
    const weight = parameters.find((text) => text.startsWith("q="))?.slice(2);
    weights.set(coding, weight === undefined ? 1 : Number(weight));
  }
  return (weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0) > 0;
}
