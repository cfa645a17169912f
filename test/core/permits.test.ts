import { expect, test } from "vitest";
import { Permits } from "../../src/core/permits.js";

/** What has happened once every promise that can settle has. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("gives as many permits as there are, in the order of arrival", async () => {
  const permits = new Permits(10);
  const given: string[] = [];
  const take = (name: string, count: number) =>
    permits.take(undefined, count).then((own) => {
      given.push(name);
      return own;
    });
  const first = take("first", 6);
  const second = take("second", 6);
  const third = take("third", 1);
  await settled();
  expect(given).toEqual(["first"]);
  (await first)[Symbol.dispose]();
  (await second)[Symbol.dispose]();
  await third;
  expect(given).toEqual(["first", "second", "third"]);
  expect(permits.taken).toBe(1);
});

test("gives all permits to one who asks for more than there are", async () => {
  const permits = new Permits(10);
  const all = await permits.take(undefined, 1000);
  const next = permits.take();
  expect(await Promise.race([next, settled().then(() => "waits")])).toBe("waits");
  all[Symbol.dispose]();
  await next;
  expect(permits.taken).toBe(1);
});

test("one that is aborted while it waits does not block the others", async () => {
  const permits = new Permits(10);
  const first = await permits.take(undefined, 6);
  const gone = new AbortController();
  const large = permits.take(gone.signal, 9);
  const small = permits.take(undefined, 4);
  gone.abort();
  await expect(large).rejects.toThrow("abort");
  await expect(permits.take(gone.signal)).rejects.toThrow("abort");
  await small;
  first[Symbol.dispose]();
  await permits.take(undefined, 6);
  expect(permits.taken).toBe(10);
});

test("a permit is given back once", async () => {
  const permits = new Permits(2);
  const [first] = [await permits.take(), await permits.take()];
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  expect(permits.taken).toBe(1);
});
