import { EventEmitter, once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import type { FastifyReply } from "fastify";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { StreamedResponse } from "../../../src/serve/endpoints/response.js";
import { MemoryBudgets } from "../../../src/serve/http/memory-budget.js";
import { bodyOf, disconnectStalled, requestLifetime } from "../../../src/serve/http/request-lifetime.js";

const CHECK_MS = 10;
const STALLED_MS = 6 * CHECK_MS;
const BODY_BYTES = 64 * 1024 * 1024;

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

/** A response of which the system takes what a test says. */
function fakeResponse() {
  const handle = { bytesWritten: 1000, writeQueueSize: 1000 };
  const destroyed = vi.fn<() => void>();
  const response = Object.assign(new EventEmitter(), {
    req: { socket: new EventEmitter() },
    socket: { _handle: handle },
    writableLength: 1000,
    destroy: destroyed,
  });
  disconnectStalled(response as unknown as ServerResponse, STALLED_MS);
  return { response, handle, destroyed };
}

test("a client that reads nothing is disconnected after the time, and a check at most", () => {
  const { handle, destroyed } = fakeResponse();
  // The beginning of the only write leaves at once.
  handle.writeQueueSize = 600;
  vi.advanceTimersByTime(STALLED_MS);
  expect(destroyed).not.toHaveBeenCalled();
  vi.advanceTimersByTime(CHECK_MS);
  expect(destroyed).toHaveBeenCalled();
});

test("a byte that the client takes begins the time again", () => {
  const { handle, destroyed } = fakeResponse();
  for (let n = 0; n < 5; n++) {
    vi.advanceTimersByTime(STALLED_MS);
    handle.writeQueueSize -= 1;
  }
  vi.advanceTimersByTime(STALLED_MS);
  expect(destroyed).not.toHaveBeenCalled();
  vi.advanceTimersByTime(CHECK_MS);
  expect(destroyed).toHaveBeenCalled();
});

test("a client for which there are no bytes may wait, as may one whose turn has not come", () => {
  const { response, destroyed } = fakeResponse();
  response.writableLength = 0;
  vi.advanceTimersByTime(10 * STALLED_MS);
  Object.assign(response, { writableLength: 1000, socket: null });
  vi.advanceTimersByTime(10 * STALLED_MS);
  expect(destroyed).not.toHaveBeenCalled();
  response.emit("close");
  expect(vi.getTimerCount()).toBe(0);
});

test("a response that has ended before it is written is not looked at", async () => {
  const { response } = await connected((raw) => void raw.destroy());
  if (!response.closed) await once(response, "close");
  disconnectStalled(response, STALLED_MS);
  expect(vi.getTimerCount()).toBe(0);
});

/** A response that is being made, and its client, which reads only when a test makes it. */
async function connected(respond: (response: ServerResponse) => void) {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = connect({ port: (server.address() as AddressInfo).port });
  client.on("error", () => {}).pause();
  onTestFinished(() => {
    client.destroy();
    server.close();
  });
  client.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const [, response] = (await once(server, "request")) as [unknown, ServerResponse];
  respond(response);
  return { client, response };
}

/** Reads until the system has taken further bytes of the response. */
async function readSome(client: Socket, { socket }: ServerResponse): Promise<void> {
  const { _handle: handle } = socket as unknown as { _handle: { writeQueueSize: number } };
  const before = handle.writeQueueSize;
  client.resume();
  while (handle.writeQueueSize === before) await setImmediate();
  client.pause();
}

test("a client that reads slowly is not disconnected within one long write; one that stops is", async () => {
  const { client, response } = await connected((one) => {
    disconnectStalled(one, STALLED_MS);
    one.end(Buffer.alloc(BODY_BYTES));
  });
  for (let n = 0; n < 4; n++) {
    await readSome(client, response);
    vi.advanceTimersByTime(STALLED_MS);
    expect([response.destroyed, response.writableFinished]).toEqual([false, false]);
  }
  while (!response.destroyed) {
    vi.advanceTimersByTime(CHECK_MS);
    await setImmediate();
  }
  expect(client.bytesRead).toBeLessThan(BODY_BYTES);
});

test("a client that reads nothing of a streamed body is disconnected after 60 seconds, and 10 at most", async () => {
  const budgets = new MemoryBudgets();
  const piece = "x".repeat(1024 * 1024);
  async function* pieces(): AsyncGenerator<string> {
    for (let n = 0; n < BODY_BYTES / piece.length; n++) yield piece;
  }
  const body = await StreamedResponse.of(pieces());
  const { response } = await connected((raw) => {
    const lifetime = requestLifetime(raw, budgets, 3_600_000);
    const reply = { raw, header: () => reply } as unknown as FastifyReply;
    void bodyOf(reply, body, lifetime, () => {}).then((made) => (made as NodeJS.ReadableStream).pipe(raw));
  });
  while (response.writableLength === 0) await setImmediate();
  vi.advanceTimersByTime(59_999);
  expect(response.destroyed).toBe(false);
  vi.advanceTimersByTime(10_001);
  expect(response.destroyed).toBe(true);
});
