import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import { responseOf } from "../http/errors/request-error.js";

const REASONS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  429: "Too Many Requests",
  500: "Internal Server Error",
  503: "Service Unavailable",
};

/**
 * Gives a request that asked for an upgrade back to the server, without its upgrade headers. Once a server has a
 * listener for upgrades, Node no longer handles such requests itself, and HTTP/2 clients ask for an upgrade in ordinary
 * requests.
 */
export function handBack(server: Server, request: IncomingMessage, socket: Socket, head: Buffer): void {
  const lines: string[] = [`${request.method} ${request.url} HTTP/${request.httpVersion}`];
  const { rawHeaders } = request;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = [rawHeaders[at], rawHeaders[at + 1]];
    if (/^(?:upgrade|http2-settings)$/i.test(name)) continue;
    const rest = /^connection$/i.test(name)
      ? value.replaceAll(/\b(?:upgrade|http2-settings)\b,?\s*/gi, "")
      : value;
    if (rest.replaceAll(/[,\s]/g, "") !== "" || rest === value) lines.push(`${name}: ${rest}`);
  }
  // The server adds its listeners again; without this, each such request of a connection would add another one.
  socket.removeAllListeners("timeout");
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}

/** Refuses a handshake with one of the interface's errors. @returns the HTTP status. */
export function refuseHandshake(socket: Socket, error: unknown, requestId: string): number {
  const { status, body, retryAfterMs } = responseOf(error, requestId);
  const text = JSON.stringify(body);
  const wait = retryAfterMs === undefined ? "" : `retry-after: ${Math.ceil(retryAfterMs / 1000)}\r\n`;
  // The socket is destroyed when the response is sent, so that it does not stay half open until the client ends it.
  socket.once("finish", () => socket.destroy());
  socket.end(
    `HTTP/1.1 ${status} ${REASONS[status] ?? "Error"}\r\nconnection: close\r\n` +
      `content-type: application/json; charset=utf-8\r\nx-request-id: ${requestId}\r\n${wait}` +
      `content-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  return status;
}
