import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import fastify from "fastify";
import { expect, test } from "vitest";
import { goneSignal } from "../../../src/ui/http/request-use.js";

test.each(["before the signal is made", "after the signal was made"])(
  "notices a page that goes %s",
  async (when) => {
    const app = fastify();
    let page: Socket | undefined;
    const made = new Promise<AbortSignal>((resolve) => {
      app.get("/", async (_, reply) => {
        const early = when.startsWith("after") ? goneSignal(reply) : undefined;
        page?.destroy();
        await once(reply.raw, "close");
        resolve(early ?? goneSignal(reply));
        return reply.hijack();
      });
    });
    await app.listen({ host: "127.0.0.1", port: 0 });
    try {
      page = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
      page.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
      const { aborted, reason } = await made;
      expect([aborted, String(reason)]).toEqual([true, "BarlakeError: the page has gone"]);
    } finally {
      await app.close();
    }
  },
);
