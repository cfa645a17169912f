import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { PlainOrder } from "./plain-bytes.js";

/** The process of a plain server: fetches a body by its parent's order, serves it, and ends with its parent. */
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("disconnect", () => process.exit());
process.once("message", (order: PlainOrder) => void serve(order));

async function serve({ url, headers }: PlainOrder): Promise<void> {
  const response = await fetch(url, { headers });
  const body = Buffer.from(await response.arrayBuffer());
  const head = { "content-type": response.headers.get("content-type") ?? "" };
  const server = createServer((_request, reply) => {
    reply.writeHead(200, { ...head, "content-length": body.length }).end(body);
  });
  server.listen(0, "127.0.0.1", () => {
    process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  });
}
