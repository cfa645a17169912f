import { once as onceOf } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, createServer as createRawServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { LoadConnection } from "../../bench/serving/load-connection.js";
import { ResponseReader } from "../../bench/serving/response-reader.js";

const head = (...headers: string[]): string => `HTTP/1.1 200 OK\r\n${headers.join("\r\n")}\r\n\r\n`;
const LENGTH = `${head("Content-Type: text/plain", "Content-Length: 12")}twelve bytes`;
const CHUNKED = `${head("transfer-encoding: chunked")}5\r\nseven\r\n0A\r\n\r\n chunks\n\r\n0\r\n\r\n`;

/** What a reader has of a response that arrives in pieces. */
function readIn(pieces: readonly string[]): { ends: boolean[]; bodyBytes: number; status: number } {
  const reader = new ResponseReader(100);
  const ends = pieces.map((piece) => reader.read(Buffer.from(piece, "latin1")));
  return { ends, bodyBytes: reader.bodyBytes, status: reader.status };
}

test("a response ends with its last byte, wherever its pieces are cut", () => {
  for (const [response, bodyBytes] of [[LENGTH, 12] as const, [CHUNKED, 15] as const]) {
    const cuts = fc.uniqueArray(fc.integer({ min: 1, max: response.length - 1 }));
    fc.assert(
      fc.property(cuts, (unordered) => {
        const at = [0, ...unordered.sort((a, b) => a - b), response.length];
        const pieces = at.slice(1).map((end, index) => response.slice(at[index], end));
        const ends = pieces.map((_, index) => index === pieces.length - 1);
        expect(readIn(pieces)).toEqual({ ends, bodyBytes, status: 200 });
      }),
    );
    expect(readIn(response.split("")).ends.filter(Boolean)).toHaveLength(1);
  }
  expect(readIn([head("content-length: 0")])).toEqual({ ends: [true], bodyBytes: 0, status: 200 });
});

test.each([
  ["another protocol", "HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", /status line/],
  ["no status", "HTTP/1.1 OK\r\n\r\n", /status line/],
  ["a provisional response", "HTTP/1.1 100 Continue\r\n\r\n", /no body/],
  ["a response without a body", "HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n", /no body/],
  ["no length", head("content-type: text/plain"), /framing/],
  ["two lengths", head("content-length: 5", "content-length: 5"), /framing/],
  ["a length and chunks", head("content-length: 5", "transfer-encoding: chunked"), /framing/],
  ["another coding", head("transfer-encoding: gzip, chunked"), /framing/],
  ["a length that is no number", head("content-length: 5x"), /framing/],
  ["a negative length", head("content-length: -5"), /framing/],
  ["a header that is none", head("content-length 5"), /header/],
  ["a header on two lines", head("content-length: 5", " and more"), /header/],
  ["an endless head", `HTTP/1.1 200 OK\r\nx: ${"y".repeat(70_000)}`, /too long/],
  ["more than its length", `${LENGTH}!`, /after the end/],
  ["more than its chunks", `${CHUNKED}H`, /after the end/],
  ["a size that is none", `${head("transfer-encoding: chunked")}g\r\n`, /size/],
  ["an empty size", `${head("transfer-encoding: chunked")}\r\n`, /size/],
  ["an extension", `${head("transfer-encoding: chunked")}5;a=b\r\nseven\r\n`, /size/],
  ["an endless size", `${head("transfer-encoding: chunked")}${"0".repeat(20)}`, /size/],
  ["a chunk that is too long", `${head("transfer-encoding: chunked")}4\r\nseven\r\n`, /longer/],
  ["trailers", `${head("transfer-encoding: chunked")}0\r\na: b\r\n\r\n`, /trailers/],
])("is no response that is known: %s", (_, response, message) => {
  expect(() => readIn([response])).toThrow(message);
  if (response.length < 1000) expect(() => readIn(response.split(""))).toThrow(message);
});

async function listen(server: Server | ReturnType<typeof createRawServer>): Promise<string> {
  onTestFinished(() => void server.close());
  server.listen(0, "127.0.0.1");
  await onceOf(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function connectTo(url: string): LoadConnection {
  const connection = new LoadConnection(url, { "x-api-key": "k" });
  onTestFinished(() => connection[Symbol.dispose]());
  return connection;
}

test("asks a server of Node on one connection, and counts the bodies of both framings", async () => {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const bytes = Number(request.url?.slice(1));
    const isPost = request.method === "POST";
    if (request.headers["x-api-key"] !== "k" || body !== (isPost ? "ü" : "")) response.statusCode = 400;
    if (isPost) response.setHeader("content-length", bytes);
    for (let at = 0; at < bytes; at += 50_000) response.write("x".repeat(Math.min(50_000, bytes - at)));
    response.end();
  };
  const server = createServer((request, response) => void respond(request, response));
  let connections = 0;
  server.on("connection", () => connections++);
  const connection = connectTo(await listen(server));
  for (const bytes of [0, 1, 999, 65_536, 1_234_567]) {
    expect(await connection.ask({ method: "GET", path: `/${bytes}` })).toBe(bytes);
    if (bytes > 50)
      expect(await connection.ask({ method: "POST", path: `/${bytes}`, body: "ü" })).toBe(bytes);
  }
  expect(connections).toBe(1);
});

test("a refusal is an error that states the request and the response", async () => {
  const server = createServer((_, response) => void response.writeHead(429).end('{"code":"RATE_LIMITED"}'));
  const connection = connectTo(await listen(server));
  await expect(connection.ask({ method: "GET", path: "/quotes" })).rejects.toThrow(
    'GET /quotes: status 429: {"code":"RATE_LIMITED"}',
  );
});

test("a connection that ends, and bytes that nothing has asked for, are errors", async () => {
  const replies = [head("content-length: 9"), `${LENGTH}${LENGTH}`];
  const server = createRawServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.once("data", () => void socket.end(replies.shift() ?? ""));
  });
  const url = await listen(server);
  const short = connectTo(url);
  await expect(short.ask({ method: "GET", path: "/" })).rejects.toThrow(/has closed the connection/);
  await expect(short.ask({ method: "GET", path: "/" })).rejects.toThrow(/has closed the connection/);
  await expect(connectTo(url).ask({ method: "GET", path: "/" })).rejects.toThrow(/after the end/);
});
