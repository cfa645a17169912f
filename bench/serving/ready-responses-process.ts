import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ReadyOrder } from "./ready-responses.js";

/** The process of a server: requests responses by its parent's order, serves them, and ends with its parent. */
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("disconnect", () => process.exit());
process.once("message", (order: ReadyOrder) => void serve(order));

interface Ready {
  readonly type: string;
  readonly body: Buffer;
}

async function serve({ url, paths, headers }: ReadyOrder): Promise<void> {
  const responses = new Map<string | undefined, Ready>();
  for (const path of paths) responses.set(path, await requested(url + path, headers));
  const server = createServer((request, reply) => {
    const ready = responses.get(request.url);
    if (ready === undefined) reply.writeHead(404).end();
    else {
      const { type, body } = ready;
      reply.writeHead(200, { "content-type": type, "content-length": body.length }).end(body);
    }
  });
  // The plain program computes for seconds between two requests, and then sends the next one on the same connection.
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1", () => {
    process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
}

async function requested(url: string, headers: ReadyOrder["headers"]): Promise<Ready> {
  const response = await fetch(url, { headers });
  if (!response.ok) throw new Error(`${url.slice(0, 80)} was answered ${response.status}`);
  return {
    type: response.headers.get("content-type") ?? "",
    body: Buffer.from(await response.arrayBuffer()),
  };
}
