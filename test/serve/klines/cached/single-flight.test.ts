import { expect, test } from "vitest";
import { LentMemory, MemoryPool } from "../../../../src/core/memory-pool.js";
import type { BarRun } from "../../../../src/serve/klines/bar-runs.js";
import { SingleFlight } from "../../../../src/serve/klines/single-flight.js";

const never = new AbortController().signal;

test("the same load is begun once, and another by itself", async () => {
  const loads = new SingleFlight();
  let begun = 0;
  const begin = async (): Promise<Map<string, BarRun>> => {
    begun += 1;
    return new Map();
  };
  const [a, b, c] = await Promise.all(["x", "x", "y"].map((id) => loads.share(id, { signal: never }, begin)));
  expect(a).toBe(b);
  expect(a).not.toBe(c);
  expect(begun).toBe(2);
  await loads.share("x", { signal: never }, begin);
  expect(begun).toBe(3);
});

test("a waiting call continues where the first one has failed, or ends when it is aborted", async () => {
  const loads = new SingleFlight();
  const gone = new AbortController();
  const own = new Map<string, BarRun>();
  const failing = loads.share("x", { signal: never }, () => Promise.reject(new Error("gone away")));
  const waiting = loads.share("x", { signal: never }, async () => own);
  await expect(failing).rejects.toThrow("gone away");
  expect(await waiting).toBe(own);
  void loads.share("y", { signal: never }, () => new Promise(() => {}));
  const givenUp = loads.share("y", { signal: gone.signal }, async () => own);
  gone.abort();
  await expect(givenUp).rejects.toThrow("abort");
});

test("the memory of a load that several wait for is not used again, although the first one gives it back", async () => {
  const pool = new MemoryPool();
  const loads = new SingleFlight();
  const load = async (waiting: number): Promise<ArrayBuffer> => {
    const memory = new LentMemory(pool);
    let read: ArrayBuffer | undefined;
    const all = Array.from({ length: waiting }, (_, k) =>
      loads.share("x", { signal: never, ...(k === 0 ? { memory } : {}) }, async () => {
        read = memory.take(50_000);
        return new Map();
      }),
    );
    await all[0];
    memory.giveBack();
    return read as ArrayBuffer;
  };
  expect(pool.take(50_000)).not.toBe(await load(2));
  expect(await load(1)).toBe(pool.take(50_000));
});
