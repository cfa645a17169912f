import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as the scripted service received it. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** Responds to one request; may break the connection through the response's socket. */
export type Script = (seen: Seen, response: ServerResponse, index: number) => void;

/** A real server on a loopback port whose responses a test scripts. */
export interface ScriptedService {
  readonly url: string;
  readonly seen: readonly Seen[];
  /** Requests seen so far, by path. */
  count(path: string): number;
  script: Script;
  /** Stops it, and breaks its open connections. */
  close(): Promise<void>;
}

/** Starts the server; the caller must close it. */
export async function openScripted(script: Script): Promise<ScriptedService> {
  const seen: Seen[] = [];
  const service = {
    url: "",
    seen,
    script,
    count: (path: string) => seen.filter((one) => one.path === path).length,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((request, response) => {
    // Tests pass in their clock.
    response.sendDate = false;
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const url = new URL(request.url ?? "/", "http://localhost");
      const one = {
        method: request.method ?? "",
        path: url.pathname,
        query: url.searchParams,
        headers: request.headers,
        body: Buffer.concat(pieces).toString("utf8"),
      };
      seen.push(one);
      service.script(one, response, seen.length - 1);
    });
  });
  // A service that ends an idle connection may do so just when the next request is sent: that request would fail.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  service.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return service;
}

/** Responds with a JSON body. */
export function json(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(text);
}

/** Sends the first bytes of a body and breaks the connection. */
export function cutAfter(response: ServerResponse, body: string, bytes: number): void {
  response.writeHead(200, {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(body)),
  });
  response.write(Buffer.from(body).subarray(0, bytes), () => setImmediate(() => response.destroy()));
}

/** Responds with a cut JSON body as if it were complete. */
export function truncated(response: ServerResponse, body: string, bytes: number): void {
  response.writeHead(200, { "content-type": "application/json" }).end(Buffer.from(body).subarray(0, bytes));
}

export function html(response: ServerResponse, status: number): void {
  response.writeHead(status, { "content-type": "text/html" }).end("<html><body>Bad gateway</body></html>");
}
