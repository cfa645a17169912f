import { expect, test } from "vitest";
import { MemoryBudget } from "../../../src/serve/http/memory-budget.js";

const never = new AbortController().signal;
/** What has happened once every promise that can settle has. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("lets in as much as there is room for, in the order of coming", async () => {
  const room = new MemoryBudget(10);
  const entered: string[] = [];
  const enter = (name: string, rows: number) =>
    room.take(rows, never).then((leave) => {
      entered.push(name);
      return leave;
    });
  const first = enter("first", 6);
  const second = enter("second", 6);
  const third = enter("third", 1);
  await settled();
  expect(entered).toEqual(["first"]);
  (await first)();
  (await second)();
  await third;
  expect(entered).toEqual(["first", "second", "third"]);
});

test("takes one that is larger than the room when it is alone", async () => {
  const room = new MemoryBudget(10);
  const leave = await room.take(1000, never);
  const next = room.take(1, never);
  const first = await Promise.race([next, settled().then(() => "waits")]);
  expect(first).toBe("waits");
  leave();
  expect(await next).toBeTypeOf("function");
});

test("one that goes away while it waits keeps nobody out", async () => {
  const room = new MemoryBudget(10);
  const leave = await room.take(6, never);
  const gone = new AbortController();
  const large = room.take(9, gone.signal);
  const small = room.take(4, never);
  gone.abort();
  await expect(large).rejects.toThrow("abort");
  await small;
  leave();
  await room.take(6, never);
});
