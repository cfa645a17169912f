import { expect, test } from "vitest";
import { KeyedPool, type PoolOptions } from "../../src/core/keyed-pool.js";

/** A pool of numbers, which are counted up, and the list of those that it has closed. */
function poolOf(options: Partial<PoolOptions<number>> = {}) {
  const closed: number[] = [];
  let made = 0;
  const pool = new KeyedPool<number>({
    atOnce: 2,
    mostOpen: 2,
    close: (value) => void closed.push(value),
    ...options,
  });
  const take = (key: string) => pool.take(key, async () => ++made);
  return { pool, closed, take };
}

test("a resource is used again by its key, and the least recently used one is closed for another", async () => {
  const { closed, take } = poolOf();
  const [a, b] = [await take("a"), await take("b")];
  expect([a.value, b.value]).toEqual([1, 2]);
  // All are in use: one more is opened, and closed at its return.
  const more = await take("a");
  expect([more.value, closed]).toEqual([3, []]);
  more[Symbol.dispose]();
  expect(closed).toEqual([3]);
  b[Symbol.dispose]();
  a[Symbol.dispose]();
  a[Symbol.dispose]();
  expect(closed).toEqual([3]);
  {
    using again = await take("a");
    expect(again.value).toBe(1);
    using other = await take("c");
    expect([other.value, closed]).toEqual([4, [3, 2]]);
  }
});

test("what was discarded, cannot be used or is outdated is closed, and a failed opening leaves nothing", async () => {
  const { pool, closed, take } = poolOf({ isUsable: (value) => value !== 2 });
  const first = await take("a");
  first.discard();
  first[Symbol.dispose]();
  (await take("a"))[Symbol.dispose]();
  expect(closed).toEqual([1, 2]);
  (await take("a"))[Symbol.dispose]();
  (await take("b"))[Symbol.dispose]();
  pool.drop((value) => value === 3);
  expect(closed).toEqual([1, 2, 3]);
  await expect(pool.take("c", () => Promise.reject(new Error("none")))).rejects.toThrow("none");
  await pool.close();
  expect(closed).toEqual([1, 2, 3, 4]);
});

test("a pool is closed when the last turn has ended, also those that waited", async () => {
  const { pool, closed, take } = poolOf({ atOnce: 1 });
  const turn = await pool.turn();
  const own = await take("a");
  (await take("b"))[Symbol.dispose]();
  const waiting = pool.turn();
  let isClosed = false;
  const closing = pool.close().then(() => (isClosed = true));
  expect(closed).toEqual([2]);
  own[Symbol.dispose]();
  turn[Symbol.dispose]();
  expect(closed).toEqual([2, 1]);
  const last = await waiting;
  expect(isClosed).toBe(false);
  last[Symbol.dispose]();
  await closing;
  expect(pool.isClosed).toBe(true);
});
