import fc from "fast-check";
import { expect, test } from "vitest";
import { LentMemory, MemoryPool } from "../../src/core/memory-pool.js";

test("memory is large enough, and nobody has memory that another one has", () => {
  const anyStep = fc.oneof(
    fc.record({ take: fc.integer({ min: 1, max: 200_000 }) }),
    fc.record({ giveBack: fc.nat(20) }),
  );
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 60 }), (steps) => {
      const pool = new MemoryPool();
      const used: ArrayBuffer[] = [];
      for (const step of steps) {
        if ("take" in step) {
          const memory = pool.take(step.take);
          expect(memory.byteLength).toBeGreaterThanOrEqual(step.take);
          expect(used).not.toContain(memory);
          used.push(memory);
        } else for (const memory of used.splice(step.giveBack, 1)) pool.giveBack(memory);
      }
    }),
  );
});

test("memory that was given back is used again, and no more of it is kept than 48 MB", () => {
  const pool = new MemoryPool();
  const first = pool.take(100_000);
  pool.giveBack(first);
  expect(pool.take(70_000)).toBe(first);
  expect(pool.take(70_000)).not.toBe(first);
  const many = Array.from({ length: 60 }, () => pool.take(2 ** 20));
  for (const memory of many) pool.giveBack(memory);
  const again = Array.from({ length: 60 }, () => pool.take(2 ** 20));
  expect(again.filter((memory) => many.includes(memory))).toHaveLength(48);
});

test("lent memory is given back once, and never where others read it", () => {
  const pool = new MemoryPool();
  const own = new LentMemory(pool);
  const memory = own.take(50_000);
  own.giveBack();
  own.giveBack();
  expect([pool.take(50_000), pool.take(50_000)].filter((one) => one === memory)).toHaveLength(1);
  const shared = new LentMemory(pool);
  const read = shared.take(50_000);
  shared.share();
  shared.giveBack();
  expect(pool.take(50_000)).not.toBe(read);
});
