import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteWriter } from "../../../src/wire/encode/byte-writer.js";
import { unicodeText } from "../../unicode-text.js";

/** What a writer that begins with a capacity of one byte, and so must grow, has written. */
function written(write: (out: ByteWriter) => void): string {
  const out = new ByteWriter(1);
  write(out);
  expect(out.view().length).toBe(out.length);
  return new TextDecoder().decode(out.view());
}

/** As ECMAScript writes it, but with the sign of negative zero, and with a fraction where it has no exponent. */
const textOf = (value: number): string =>
  (Object.is(value, -0) ? "-0" : String(value)).replace(/^-?\d+$/, "$&.0");

function doublesText(values: readonly number[]): string {
  return written((out) => out.doubles(Float64Array.from(values)));
}

function integersText(values: readonly bigint[]): string {
  return written((out) => out.integers(BigInt64Array.from(values)));
}

describe("doubles", () => {
  test("any finite double is written as String() writes it, with a fraction, in any order", () => {
    const anyDecimal = fc
      .tuple(fc.integer({ min: -1e9, max: 1e9 }), fc.nat(12))
      .map(([n, scale]) => n / 10 ** scale);
    const anyDouble = fc.double({ noNaN: true, noDefaultInfinity: true });
    const anyOf15Digits = fc
      .tuple(fc.integer({ min: -999_999_999_999_999, max: 999_999_999_999_999 }), fc.nat(22))
      .map(([n, scale]) => Number(`${n}e-${scale}`));
    fc.assert(
      fc.property(fc.array(fc.oneof(anyDecimal, anyDecimal, anyOf15Digits, anyDouble)), (values) => {
        expect(doublesText(values)).toBe(values.map((value) => `${textOf(value)},`).join(""));
      }),
      { numRuns: 3000 },
    );
  });

  test("every price with up to four decimals, and every number of digits", () => {
    const prices = Array.from({ length: 60_000 }, (_, k) => (k * 7919) / 10 ** (k % 5));
    const powers = Array.from({ length: 40 }, (_, k) => Number(`1e${k - 18}`)).flatMap((power) => [
      power,
      power * 9,
      -power,
      1 - power,
      power + 1,
      123_456_789 * power,
    ]);
    const all = [...prices, ...powers, 0, -0];
    const texts = doublesText(all).split(",");
    expect(all.filter((value, k) => texts[k] !== textOf(value))).toEqual([]);
  });

  test.each([Number.NaN, Infinity, -Infinity])("%d has no JSON form", (value) => {
    expect(() => doublesText([1, value])).toThrow(RangeError);
  });

  test("more values than the kernel takes at once, hard ones among them", () => {
    const values = Array.from({ length: 10_000 }, (_, k) => (k % 1000 === 999 ? Math.sqrt(k) : k / 100));
    const texts = doublesText(values).split(",");
    expect(values.filter((value, k) => texts[k] !== textOf(value))).toEqual([]);
    expect(texts).toHaveLength(values.length + 1);
  });
});

describe("integers", () => {
  test("every int64 is exact", () => {
    const anyInteger = fc
      .tuple(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.nat(64))
      .map(([value, shift]) => value >> BigInt(shift));
    fc.assert(
      fc.property(fc.array(anyInteger), (values) => {
        expect(integersText(values)).toBe(values.map((value) => `${value},`).join(""));
      }),
      { numRuns: 1000 },
    );
  });

  test("the ends of every number of digits, of what a double holds, and of 64 bits", () => {
    const powers = Array.from({ length: 19 }, (_, k) => 10n ** BigInt(k)).flatMap((power) => [
      power,
      power - 1n,
    ]);
    const ends = [...powers, 2n ** 53n, 2n ** 53n + 1n, 2n ** 63n - 1n].flatMap((one) => [one, -one]);
    const all = [...ends, -(2n ** 63n)];
    expect(integersText(all)).toBe(all.map((value) => `${value},`).join(""));
  });
});

test("strings are written as JSON.stringify writes them", () => {
  fc.assert(
    fc.property(unicodeText(), (value) => {
      expect(written((out) => out.jsonString(value))).toBe(JSON.stringify(value));
    }),
  );
});
