import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ByteWriter } from "../../../src/wire/encode/byte-writer.js";

/** What a writer that begins with one byte of room, and so must grow, has written. */
function written(write: (out: ByteWriter) => void): string {
  const out = new ByteWriter(1);
  write(out);
  expect(out.view().length).toBe(out.length);
  return new TextDecoder().decode(out.view());
}

describe("doubles", () => {
  test("short decimals are written as short as can be, in any order", () => {
    const anyDecimal = fc
      .tuple(fc.integer({ min: -1e9, max: 1e9 }), fc.nat(6))
      .map(([n, scale]) => n / 10 ** scale);
    fc.assert(
      fc.property(
        fc.array(fc.oneof(anyDecimal, fc.double({ noNaN: true, noDefaultInfinity: true }))),
        (values) => {
          const texts = written((out) => {
            for (const value of values) {
              out.double(value);
              out.byte(0x20);
            }
          }).split(" ");
          for (const [i, value] of values.entries()) {
            expect(Number(texts[i])).toBe(value);
            if (Math.abs(value) < 1e15 && Number.isInteger(value * 1e6)) {
              expect(texts[i]?.replace(/^-/, "")).toBe(plainDecimal(Math.abs(value)));
            }
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  test.each([
    [0, "0"],
    [-0, "-0"],
    [0.1, "0.1"],
    [10, "10"],
    [1200, "1200"],
    [1200.5, "1200.5"],
    [0.000001, "0.000001"],
    [999_999_999.25, "999999999.25"],
    [1_000_000_000, "1000000000"],
    [123_456_789_012.34, "123456789012.34"],
    [999_999_999_999_999, "999999999999999"],
    [1e15, "1000000000000000"],
    [1e21, "1e+21"],
    [5e-324, "5e-324"],
    [0.1 + 0.2, "0.30000000000000004"],
    [-1.7976931348623157e308, "-1.7976931348623157e+308"],
  ])("%d", (value, text) => {
    expect(written((out) => out.double(value))).toBe(text);
  });
});

/** A double as a plain decimal, without an exponent: the platform's shortest digits. */
function plainDecimal(value: number): string {
  return Math.abs(value) < 1e-6 && value !== 0 ? value.toFixed(20).replace(/0+$/, "") : String(value);
}

describe("integers", () => {
  test("every int64 is exact", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.nat(64), (value, shift) => {
        const values = BigInt64Array.of(0n, value >> BigInt(shift));
        const words = new Int32Array(values.buffer);
        expect(written((out) => out.int64(values, words, 1))).toBe(String(values[1]));
      }),
      { numRuns: 1000 },
    );
  });

  test("the ends of what is exact in a double, and of 64 bits", () => {
    const all = [
      2n ** 53n,
      2n ** 53n + 1n,
      2n ** 53n - 1n,
      2n ** 63n - 1n,
      10n ** 9n,
      10n ** 9n - 1n,
      10n ** 15n,
      0n,
    ];
    for (const value of all.flatMap((one) => [one, -one])) {
      const values = BigInt64Array.of(value);
      expect(written((out) => out.int64(values, new Int32Array(values.buffer), 0))).toBe(String(value));
    }
    const least = BigInt64Array.of(-(2n ** 63n));
    expect(written((out) => out.int64(least, new Int32Array(least.buffer), 0))).toBe("-9223372036854775808");
  });
});

test("strings are written as JSON.stringify writes them", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (value) => {
      expect(written((out) => out.jsonString(value))).toBe(JSON.stringify(value));
    }),
  );
});
