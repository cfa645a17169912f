import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { onResponseEnd } from "../../../src/serve/http/request-lifetime.js";

const REQUESTS = 12;

/** A client that has sent several requests at once, and their responses, which nobody has written. */
async function pipelined(): Promise<{ readonly client: Socket; readonly responses: ServerResponse[] }> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const responses: ServerResponse[] = [];
  server.on("request", (_, response: ServerResponse) => responses.push(response));
  const client = connect({ port: (server.address() as AddressInfo).port });
  client.on("error", () => {});
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".repeat(REQUESTS));
  while (responses.length < REQUESTS) await setImmediate();
  return { client, responses };
}

test("all responses of a connection end with it, also those that wait for their turn, each once", async () => {
  const { client, responses } = await pipelined();
  const ended: number[] = [];
  for (const [index, response] of responses.entries()) onResponseEnd(response, () => ended.push(index));
  const { socket } = (responses[0] as ServerResponse).req;
  expect(socket.listenerCount("close")).toBeLessThan(REQUESTS);
  client.destroy();
  while (ended.length < REQUESTS) await setImmediate();
  for (let n = 0; n < 5; n++) await setImmediate();
  expect(ended.toSorted((a, b) => a - b)).toEqual(responses.map((_, index) => index));
});

test("a response ends when it is sent, and those after it do not", async () => {
  const { client, responses } = await pipelined();
  const ended: number[] = [];
  for (const [index, response] of responses.entries()) onResponseEnd(response, () => ended.push(index));
  client.resume();
  responses[0]?.end("first");
  responses[1]?.end("second");
  while (ended.length < 2) await setImmediate();
  expect(ended).toEqual([0, 1]);
});

test("of a response that has ended, it is said at once", async () => {
  const { client, responses } = await pipelined();
  const [first, , last] = responses as [ServerResponse, ServerResponse, ServerResponse];
  client.destroy();
  while (!first.closed) await setImmediate();
  const ended: string[] = [];
  onResponseEnd(first, () => ended.push("first"));
  onResponseEnd(last, () => ended.push("waiting"));
  expect(ended).toEqual(["first", "waiting"]);
});
