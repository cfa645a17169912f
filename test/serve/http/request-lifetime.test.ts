import { createServer, get, type ServerResponse } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { MemoryBudgets } from "../../../src/serve/http/memory-budget.js";
import { type RequestLifetime, requestLifetime } from "../../../src/serve/http/request-lifetime.js";

/** The largest response that counts as short, and how many of them are the whole budget. */
const ROWS = 50_000;
const ALL = 10;
const LONGEST_MS = 60_000;

/** A promise that a test settles. */
function open(): { readonly done: Promise<void>; readonly end: () => void } {
  let end = (): void => {};
  const done = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { done, end };
}

/** Requests that use all of a budget, whose clients have gone. */
async function goneRequests(
  budgets: MemoryBudgets,
  work: (lifetime: RequestLifetime) => unknown,
): Promise<void> {
  const responses: ServerResponse[] = [];
  const all = open();
  const server = createServer((_, response) => {
    if (responses.push(response) === ALL) all.end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const clients = Array.from({ length: ALL }, () => get({ port, agent: false }).on("error", () => {}));
  await all.done;
  const closed = responses.map(async (response) => {
    const lifetime = requestLifetime(response, budgets, 3_600_000);
    await lifetime.reading.acquireMemory(ROWS);
    work(lifetime);
    await new Promise((close) => response.once("close", close));
  });
  for (const client of clients) client.destroy();
  await Promise.all(closed);
}

/** Whether the budget has memory for a response. */
async function isFree(budgets: MemoryBudgets): Promise<boolean> {
  const controller = new AbortController();
  const acquired = budgets.take(ROWS, controller.signal);
  const permit = await Promise.race([
    acquired,
    new Promise<undefined>((later) => setImmediate(() => later(undefined))),
  ]);
  controller.abort();
  await acquired.catch(() => {});
  permit?.[Symbol.dispose]();
  return permit !== undefined;
}

test("the memory of a request without work is released with its response", async () => {
  const budgets = new MemoryBudgets();
  await goneRequests(budgets, () => {});
  expect(await isFree(budgets)).toBe(true);
});

test("work that goes on after the response keeps its memory until it ends", async () => {
  const budgets = new MemoryBudgets();
  const { done, end } = open();
  await goneRequests(budgets, (lifetime) => lifetime.waitFor(done));
  expect(await isFree(budgets)).toBe(false);
  end();
  await done;
  expect(await isFree(budgets)).toBe(true);
});

test("so do pieces of a body that are being made", async () => {
  const budgets = new MemoryBudgets();
  const { done, end } = open();
  const made: Promise<unknown>[] = [];
  await goneRequests(budgets, (lifetime) => {
    const pieces = lifetime.pieces(
      (async function* () {
        await done;
        yield 1;
      })(),
    );
    made.push(pieces.next(), pieces.return(undefined));
  });
  expect(await isFree(budgets)).toBe(false);
  end();
  await Promise.all(made);
  expect(await isFree(budgets)).toBe(true);
});

test("work that does not end keeps its memory for a limited time", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const budgets = new MemoryBudgets();
  await goneRequests(budgets, (lifetime) => lifetime.waitFor(new Promise(() => {})));
  vi.advanceTimersByTime(LONGEST_MS - 1);
  expect(await isFree(budgets)).toBe(false);
  vi.advanceTimersByTime(1);
  expect(await isFree(budgets)).toBe(true);
});

test("a pipelined request gets no memory before the responses that it waits for have ended", async () => {
  const budgets = new MemoryBudgets();
  const responses: ServerResponse[] = [];
  const all = open();
  const server = createServer((_, response) => {
    if (responses.push(response) === 2) all.end();
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: "127.0.0.1" });
  onTestFinished(() => void socket.destroy());
  socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2));
  socket.resume();
  await all.done;
  const [first, second] = responses.map((response) => requestLifetime(response, budgets, 3_600_000));
  let hasMemory = false;
  const waiting = (async () => {
    await second?.reading.acquireMemory(ROWS);
    hasMemory = true;
  })();
  await first?.reading.acquireMemory(ROWS);
  expect(hasMemory).toBe(false);
  responses[0]?.end();
  await waiting;
  expect(hasMemory).toBe(true);
  responses[1]?.end();
});
