import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import {
  createMcpHandler,
  hostHeaderValidationResponse,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  originValidationResponse,
} from "@modelcontextprotocol/server";
import { StdioServerTransport, serveStdio } from "@modelcontextprotocol/server/stdio";
import { cannotListen, messageOf } from "../core/errors.js";
import type { KeyRing } from "../serve/keys/key-ring.js";
import type { LakeQuestions } from "./lake-questions.js";
import { mcpServer } from "./mcp-server.js";

/** Where a server reports what its client does not see. */
type OnFault = (error: Error) => void;

/** Serves one client over standard input and output, until it closes the input, or the signal aborts. */
export async function serveStdin(
  questions: LakeQuestions,
  signal: AbortSignal,
  onerror: OnFault,
): Promise<void> {
  const ended = new Promise<void>((resolve) => {
    process.stdin.once("close", resolve).once("end", resolve);
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve());
  });
  const served = serveStdio(() => mcpServer(questions), { transport: new StdioServerTransport(), onerror });
  await ended;
  await served.close();
}

/** The only address that is listened on. Other machines cannot reach it. */
export const MCP_HOST = "127.0.0.1";
const PATH = "/mcp";
/** Most bytes of a request: a statement and its values. */
const MOST_BODY = 2 ** 20;

/** A server over HTTP, for clients of this machine that have a key. */
export interface McpHttpService extends AsyncDisposable {
  readonly url: string;
}

/**
 * Serves clients over HTTP on this machine. A request names its key in `authorization: Bearer KEY` or in `x-api-key`.
 * A key that is limited to endpoints, universes or numbers of requests or symbols is refused: a statement is none of these.
 *
 * @param port 0 takes a free one. @throws {BarlakeError} where the port is not available.
 */
export async function startHttp(
  questions: LakeQuestions,
  { port, keys }: { readonly port: number; readonly keys: KeyRing },
  onerror: OnFault,
): Promise<McpHttpService> {
  const handler = createMcpHandler(() => mcpServer(questions), { onerror, maxRequestBodySize: MOST_BODY });
  const answer = async (request: Request): Promise<Response> =>
    // A page of another site, or a name of another site that points to this machine (DNS rebinding), is refused.
    hostHeaderValidationResponse(request, localhostAllowedHostnames()) ??
    originValidationResponse(request, localhostAllowedOrigins()) ??
    (await keyFault(request, keys)) ??
    (new URL(request.url).pathname === PATH
      ? handler.fetch(request)
      : refusal(404, `the server is at ${PATH}`));
  const server = createServer((incoming, outgoing) => {
    respond(incoming, outgoing, answer).catch((error: unknown) => {
      if (!outgoing.destroyed) onerror(new Error(messageOf(error), { cause: error }));
      outgoing.destroy();
    });
  });
  server.listen(port, MCP_HOST);
  await once(server, "listening").catch((cause: unknown) => {
    throw cannotListen(
      "the server for agents",
      { host: MCP_HOST, port },
      cause,
      "give another port, or 0 for a free one",
    );
  });
  return {
    url: `http://${MCP_HOST}:${(server.address() as AddressInfo).port}${PATH}`,
    [Symbol.asyncDispose]: async () => {
      await handler.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The refusal of a request without a valid key that may read everything. */
async function keyFault({ headers }: Request, keys: KeyRing): Promise<Response | undefined> {
  await keys.refresh?.();
  const bearer = /^Bearer +(\S+)$/i.exec(headers.get("authorization") ?? "")?.[1];
  const caller = keys.callerOf(bearer ?? headers.get("x-api-key") ?? "");
  if (caller === undefined)
    return refusal(401, "no valid key: send authorization: Bearer KEY", { "www-authenticate": "Bearer" });
  const { name, allow, universes, requestsPerMinute, maxSymbols } = caller;
  const limits = [allow, universes, requestsPerMinute, maxSymbols];
  if (limits.every((limit) => limit === undefined)) return undefined;
  return refusal(
    403,
    `the key of ${name} has limits of the service, which statements do not have: add one without`,
  );
}

function refusal(status: number, error: string, headers: Record<string, string> = {}): Response {
  return Response.json({ error }, { status, headers });
}

/** Answers a request of Node's server with a handler of web requests, whose signal aborts when the client goes. */
async function respond(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  answer: (request: Request) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const { method = "GET", url = "/", headers } = incoming;
  const hasBody = method !== "GET" && method !== "HEAD";
  const request = new Request(new URL(url.replace(/^\/+/, "/"), `http://${MCP_HOST}`), {
    method,
    headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
      [value ?? []].flat().map((one) => [name, one]),
    ),
    signal: gone.signal,
    ...(hasBody && { body: Readable.toWeb(incoming) as ReadableStream<Uint8Array>, duplex: "half" }),
  });
  const response = await answer(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(response.body), outgoing);
}
