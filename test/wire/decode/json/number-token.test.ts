import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NumberToken, type ScanResult } from "../../../../src/wire/decode/json/number-token.js";
import { utf8 } from "../../chunks.js";

const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;

function scan(token: NumberToken, text: string, start: number, final: boolean): ScanResult {
  const bytes = utf8(text);
  return token.scan(bytes, start, bytes.length, final);
}

function scanned(text: string): NumberToken {
  const token = new NumberToken();
  expect(scan(token, text, 0, true)).toBe("number");
  expect(token.end).toBe(text.length);
  return token;
}

const anyDigits = fc.stringMatching(/^[0-9]{1,25}$/);
const anyNumberText = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.oneof(
      fc.constant("0"),
      fc.bigInt({ min: 1n, max: 10n ** 30n }).map(String),
      fc.maxSafeNat().map(String),
    ),
    fc.oneof(
      fc.constant(""),
      anyDigits.map((d) => `.${d}`),
      fc.nat(40).map((n) => `.${"0".repeat(n)}1`),
    ),
    fc.oneof(
      fc.constant(""),
      fc.integer({ min: -400, max: 400 }).map((e) => `e${e}`),
    ),
  )
  .map((parts) => parts.join(""));

describe("as a double", () => {
  test("any number text is bit-equal to what JSON.parse gives", () => {
    fc.assert(
      fc.property(anyNumberText, (text) => {
        expect(scanned(text).toDouble()).toBe(JSON.parse(text));
      }),
      { numRuns: 2000 },
    );
  });

  test("any double comes back from its own text", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(scanned(Object.is(value, -0) ? "-0" : String(value)).toDouble()).toBe(value);
      }),
      { numRuns: 1000 },
    );
  });

  test.each([
    "-0",
    "-0.0",
    "0.000",
    "999999999999999",
    "9999999999999999",
    "0.000001",
    "1.7976931348623159e308",
    "-1e999",
  ])("%s", (text) => {
    expect(scanned(text).toDouble()).toBe(JSON.parse(text));
  });
});

describe("as an int64", () => {
  /** A decimal is the integer of its digits times a power of ten: the slow way, in exact arithmetic. */
  function exactly(text: string): bigint | "fraction" | "range" {
    const [, sign = "", whole = "", fraction = "", exponent = "0"] =
      /^(-?)(\d+)(?:\.(\d+))?(?:e(-?\d+))?$/.exec(text) ?? [];
    const power = Number(exponent) - fraction.length;
    const digits = BigInt(`${sign}${whole}${fraction}`);
    const divisor = 10n ** BigInt(Math.max(-power, 0));
    if (digits % divisor !== 0n) return "fraction";
    const value = (digits / divisor) * 10n ** BigInt(Math.max(power, 0));
    return value >= MIN_INT64 && value <= MAX_INT64 ? value : "range";
  }

  test("any number text is the exact integer, a fraction, or out of range", () => {
    const anyText = fc.oneof(
      anyNumberText,
      fc.bigInt({ min: 4n * MIN_INT64, max: 4n * MAX_INT64 }).map(String),
    );
    fc.assert(
      fc.property(anyText, (text) => {
        const token = scanned(text);
        expect(token.toBigInt()).toBe(exactly(text));
        const small = token.toSmallInteger();
        if (!Number.isNaN(small)) expect(BigInt(small)).toBe(exactly(text));
      }),
      { numRuns: 2000 },
    );
  });

  test.each<[string, bigint | "fraction" | "range"]>([
    ["-9223372036854775808", MIN_INT64],
    ["9223372036854775807", MAX_INT64],
    ["9223372036854775808", "range"],
    ["-9223372036854775809", "range"],
    ["9007199254740993", 9007199254740993n],
    ["100.0", 100n],
    ["1e2", 100n],
    ["1.5e1", 15n],
    ["1500e-2", 15n],
    ["0.0", 0n],
    ["-0", 0n],
    ["0e999", 0n],
    ["1e18", 10n ** 18n],
    ["1e19", "range"],
    ["1e999999999", "range"],
    ["1e-999999999", "fraction"],
    ["0.5", "fraction"],
    ["100.01", "fraction"],
  ])("%s is %s", (text, expected) => {
    expect(scanned(text).toBigInt()).toBe(expected);
  });

  test("integers of up to 15 digits need no BigInt", () => {
    expect(scanned("-999999999999999").toSmallInteger()).toBe(-999_999_999_999_999);
    for (const text of ["1e2", "1.0", "1234567890123456"]) expect(scanned(text).toSmallInteger()).toBeNaN();
  });
});

describe("scanning", () => {
  test.each(["01,", "-01,", "-x", "1.x", "1.e2", "1ex", "1e+x", "--1"])(
    "%s is invalid, final or not",
    (text) => {
      for (const final of [true, false]) expect(scan(new NumberToken(), text, 0, final)).toBe("invalid");
    },
  );

  test.each(["-", "1.", "1e", "1e-", "-0."])("%s is incomplete, final or not", (text) => {
    for (const final of [true, false]) expect(scan(new NumberToken(), text, 0, final)).toBe("incomplete");
  });

  test("a number that reaches the end is whole only where nothing follows", () => {
    for (const text of ["0", "-1", "1.5", "1e5", "12345678901234567890"]) {
      expect(scan(new NumberToken(), text, 0, false)).toBe("incomplete");
      expect(scan(new NumberToken(), `${text} `, 0, false)).toBe("number");
      expect(scan(new NumberToken(), `x${text}`, 1, true)).toBe("number");
    }
  });

  test("bytes after the end are not read", () => {
    for (const text of ["1", "1.", "1e", "1e+", "-"]) {
      const bytes = utf8(`${text}+5.5,`);
      expect(new NumberToken().scan(bytes, 0, text.length, false)).toBe("incomplete");
    }
  });

  test("its text is what was scanned", () => {
    const token = new NumberToken();
    expect(scan(token, "[-1.50e+3,2]", 1, false)).toBe("number");
    expect(token.text()).toBe("-1.50e+3");
    expect(token.end).toBe(9);
  });
});
