import { expect, test } from "vitest";
import { freedAfterUse, freeMemory } from "../../src/core/memory-pool.js";

test("the memory of bytes with a buffer of their own is freed", () => {
  const [bytes, doubles] = [new Uint8Array(100), new Float64Array([1, 2, 3])];
  freeMemory(bytes);
  freeMemory(doubles);
  expect(bytes.buffer.byteLength).toBe(0);
  expect(doubles.length).toBe(0);
});

test("bytes that share their buffer with others are left alone", () => {
  const whole = new Uint8Array([1, 2, 3, 4]);
  const [first, last] = [whole.subarray(0, 3), whole.subarray(3)];
  freeMemory(first);
  freeMemory(last);
  freeMemory(whole.subarray(4));
  expect([...whole]).toEqual([1, 2, 3, 4]);
  expect([...last]).toEqual([4]);
});

test("shared memory, a small buffer of Node's pool and empty bytes are left alone", () => {
  const shared = new Uint8Array(new SharedArrayBuffer(4)).fill(7);
  const pooled = Buffer.from("text");
  const empty = new Uint8Array(0);
  for (const bytes of [shared, pooled, empty]) freeMemory(bytes);
  expect([...shared]).toEqual([7, 7, 7, 7]);
  expect(String(pooled)).toBe("text");
});

test("a piece is whole until the next one is requested, and freed after that", async () => {
  const pieces = [1, 2, 3].map((n) => new Uint8Array(10).fill(n));
  const seen: number[][] = [];
  async function* body() {
    yield* pieces;
  }
  for await (const piece of freedAfterUse(body())) {
    seen.push([...piece.subarray(0, 1), piece.length]);
    const lengths = pieces.map(({ length }) => length);
    expect(lengths).toEqual([0, 0, 0].map((_, k) => (k < seen.length - 1 ? 0 : 10)));
  }
  expect(seen).toEqual([1, 2, 3].map((n) => [n, 10]));
  expect(pieces.map(({ length }) => length)).toEqual([0, 0, 0]);
});

test("pieces of one buffer, as those of a chunked response, are all read", async () => {
  const whole = Uint8Array.from({ length: 30 }, (_, index) => index);
  async function* body() {
    for (let start = 0; start < 30; start += 10) yield whole.subarray(start, start + 10);
  }
  const seen: number[] = [];
  for await (const piece of freedAfterUse(body())) seen.push(...piece);
  expect(seen).toEqual([...whole]);
});

test("the error of a body reaches the reader, and a reader that stops ends the body", async () => {
  let isEnded = false;
  async function* body() {
    try {
      yield new Uint8Array(1);
      throw new Error("broken off");
    } finally {
      isEnded = true;
    }
  }
  const readAll = async () => {
    for await (const _ of freedAfterUse(body())) continue;
  };
  await expect(readAll()).rejects.toThrow("broken off");
  isEnded = false;
  for await (const _ of freedAfterUse(body())) break;
  expect(isEnded).toBe(true);
});
