import { expect, test } from "vitest";
import { MemoryBudget } from "../../../src/serve/http/memory-budget.js";

const never = new AbortController().signal;
/** What has happened once every promise that can settle has. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("grants as many rows as the budget has, first come, first served", async () => {
  const budget = new MemoryBudget(10);
  const granted: string[] = [];
  const acquire = (name: string, rows: number) =>
    budget.acquire(rows, never).then((release) => {
      granted.push(name);
      return release;
    });
  const first = acquire("first", 6);
  const second = acquire("second", 6);
  const third = acquire("third", 1);
  await settled();
  expect(granted).toEqual(["first"]);
  (await first)();
  (await second)();
  await third;
  expect(granted).toEqual(["first", "second", "third"]);
});

test("grants a response larger than the budget when no other is in flight", async () => {
  const budget = new MemoryBudget(10);
  const release = await budget.acquire(1000, never);
  const next = budget.acquire(1, never);
  const first = await Promise.race([next, settled().then(() => "waits")]);
  expect(first).toBe("waits");
  release();
  expect(await next).toBeTypeOf("function");
});

test("a request that is aborted while it waits does not block the others", async () => {
  const budget = new MemoryBudget(10);
  const release = await budget.acquire(6, never);
  const gone = new AbortController();
  const large = budget.acquire(9, gone.signal);
  const small = budget.acquire(4, never);
  gone.abort();
  await expect(large).rejects.toThrow("abort");
  await small;
  release();
  await budget.acquire(6, never);
});
