import { expect, test } from "vitest";

const row = (n: number) => ({ symbol: `${n}.SH`, closes: [n, null, -0, Number.NaN], volume: 1n });
const rows = Array.from({ length: 50 }, (_, n) => row(n));
const same = (): typeof rows => rows.map((_, n) => row(n));

test("what is equal is equal, in any order of the names", () => {
  expect(same()).toEqual(rows);
  expect({ a: 1, b: [2] }).toEqual({ b: [2], a: 1 });
  expect(Float64Array.of(1, Number.NaN)).toEqual(Float64Array.of(1, Number.NaN));
  expect({ a: 1, b: undefined }).toEqual({ a: 1 });
  expect([1, { a: "x" }]).toEqual([expect.any(Number), { a: expect.stringMatching(/x/) }]);
});

test.each<[string, unknown, unknown]>([
  ["a value deep within", rows, same().with(49, { ...row(49), closes: [49, null, 0, Number.NaN] })],
  ["a length", [1, 2], [1, 2, 3]],
  ["a name", { a: 1 }, { b: 1 }],
  ["a name more", { a: 1 }, { a: 1, b: 2 }],
  ["a byte", Uint8Array.of(1, 2), Uint8Array.of(1, 3)],
  ["the type of an array", Uint8Array.of(1), Int8Array.of(1)],
  ["the type of a number", [1], [1n]],
  ["the sign of zero", Float64Array.of(0), Float64Array.of(-0)],
  ["a symbol", { [Symbol.for("a")]: 1 }, { [Symbol.for("a")]: 2 }],
  ["null and an object", [null], [{}]],
])("what differs in %s is not equal", (_, a, b) => {
  expect(a).not.toEqual(b);
  expect(b).not.toEqual(a);
});

test("a strict comparison sees elements that are not there, and classes", () => {
  const hole: unknown[] = [];
  hole.length = 1;
  expect([undefined]).not.toStrictEqual(hole);
  expect({ a: 1, b: undefined }).not.toStrictEqual({ a: 1 });
  expect(
    new (class {
      a = 1;
    })(),
  ).not.toStrictEqual({ a: 1 });
});

test("what is nested in itself is compared", () => {
  const [a, b]: unknown[][] = [[1], [1]];
  a?.push(a);
  b?.push(b);
  expect(a).toEqual(b);
  expect(a).not.toEqual([1, [2]]);
});
