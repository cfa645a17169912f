import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { numberKernel } from "../../../src/wire/kernel/number-kernel.js";
import { utf8 } from "../chunks.js";

/** What a scan of a text gave, and where in it the scan stopped. */
interface Scanned<T> {
  readonly values: readonly T[];
  readonly stoppedAt: number;
  readonly closed: boolean;
}

/** What follows the text in the buffer: a scan must not see it. */
const STALE = utf8("7,8,9]");

function scan(type: "double", text: string, maxCount?: number, from?: number): Scanned<number>;
function scan(type: "int64", text: string, maxCount?: number, from?: number): Scanned<bigint>;
function scan(type: "double" | "int64", text: string, maxCount = 1e6, from = 0): Scanned<number | bigint> {
  const bytes = utf8(text);
  numberKernel.input.set(bytes);
  numberKernel.input.set(STALE, bytes.length);
  const values =
    type === "double"
      ? numberKernel.scanDoubles(from, bytes.length, maxCount)
      : numberKernel.scanIntegers(from, bytes.length, maxCount);
  return { values: [...values], stoppedAt: numberKernel.stoppedAt, closed: numberKernel.closed };
}

const bits = new DataView(new ArrayBuffer(8));

/** Every double but NaN and the infinities, each bit pattern as likely as another. */
const anyFiniteDouble = fc
  .bigInt({ min: 0n, max: 2n ** 64n - 1n })
  .map((pattern) => {
    bits.setBigUint64(0, pattern);
    return bits.getFloat64(0);
  })
  .filter(Number.isFinite);

const anyDecimal = fc
  .tuple(fc.integer({ min: -1_000_000_000, max: 1_000_000_000 }), fc.nat(8))
  .map(([n, k]) => {
    const text = (Math.abs(n) / 10 ** k).toFixed(k);
    return n < 0 ? `-${text}` : text;
  });

const anyLongNumber = fc
  .tuple(
    fc.constantFrom("", "-"),
    fc.oneof(fc.constant("0"), fc.bigInt({ min: 1n, max: 10n ** 22n }).map(String)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^\.[0-9]{1,24}$/)),
    fc.oneof(fc.constant(""), fc.stringMatching(/^[eE][+-]?[0-9]{1,3}$/)),
  )
  .map((parts) => parts.join(""));

const anyNumber = fc.oneof(
  { weight: 6, arbitrary: anyDecimal },
  { weight: 2, arbitrary: anyLongNumber },
  { weight: 1, arbitrary: anyFiniteDouble.map(String) },
);

/** What is no number, or not as JSON writes it. */
const noNumber = fc.constantFrom(
  "",
  "null",
  "01",
  "00",
  "-01",
  "-",
  "+1",
  "1.",
  ".5",
  "1..5",
  "1.2.3",
  "-.5",
  "1e",
  "1e+",
  "0x1",
  "1_0",
  "Infinity",
  "NaN",
  '"1"',
  "true",
  "1 2",
  "- 1",
  "1:2",
  "{",
  "[",
  "/",
  ";",
  "١",
);
const anySeparator = fc.constantFrom(",", ",", ",", ", ", " ,", ",\n\t");

/** What the first elements of an array are read as, up to the first that is no JSON. */
function readable(elements: readonly string[]): number[] {
  const values: number[] = [];
  for (const element of elements) {
    try {
      const value = JSON.parse(element) as unknown;
      if (typeof value !== "number") break;
      values.push(value);
    } catch {
      break;
    }
  }
  return values;
}

describe("doubles", () => {
  test("in any array: what is taken is bit-equal to JSON.parse, and the stop is before an element", () => {
    fc.assert(
      fc.property(
        fc.array(fc.oneof({ weight: 30, arbitrary: anyNumber }, { weight: 1, arbitrary: noNumber })),
        anySeparator,
        fc.constantFrom("", ",", "]", ' ],"high":[1,2', "]}", "12"),
        (elements, separator, end) => {
          const text = elements.join(separator) + end;
          const { values, stoppedAt, closed } = scan("double", text);
          expect(values.every((value, k) => Object.is(value, readable(elements)[k]))).toBe(true);
          const taken = values.length === 0 ? 0 : stoppedAt + (closed ? 1 : 0);
          expect(text.slice(0, taken).split(/[,\]]/).length - 1).toBe(values.length);
          const afterComma = text.slice(0, stoppedAt).trimEnd().endsWith(",");
          expect(closed).toBe(values.length > 0 && text[stoppedAt] === "]" && !afterComma);
        },
      ),
      { numRuns: 3000 },
    );
  });

  test("an array of short decimals is taken whole, a run at a time", () => {
    fc.assert(
      fc.property(
        fc.array(anyDecimal, { minLength: 1, maxLength: 6000, size: "max" }),
        anySeparator,
        (elements, separator) => {
          const text = `${elements.join(separator)}]`;
          const read: number[] = [];
          let from = 0;
          for (let closed = false; !closed; ) {
            const run = scan("double", text, 1e6, from);
            expect(run.values.length).toBeGreaterThan(0);
            read.push(...run.values);
            from = run.stoppedAt;
            closed = run.closed;
          }
          expect(read).toEqual(elements.map(Number));
          expect(from).toBe(text.length - 1);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("any double that String() writes with at most 19 digits, down to 1e-40, is taken, bit for bit", () => {
    const within = (x: number): boolean => x === 0 || (Math.abs(x) > 1e-40 && Math.abs(x) < 1e19);
    const doubles = fc.oneof(
      anyFiniteDouble.filter(within),
      fc.double({ min: 1e-3, max: 1e9, noNaN: true }),
      fc.constantFrom(-0, 0.1 + 0.2, 2 ** 53, 2 ** 53 + 2, 1e-22, 9_007_199_254_740_993e3, 5e-40 * 1e5),
    );
    fc.assert(
      fc.property(fc.array(doubles), (values) => {
        const text = `${values.map((value) => (Object.is(value, -0) ? "-0" : String(value))).join(",")},`;
        expect(scan("double", text)).toEqual({
          values,
          stoppedAt: values.length === 0 ? 0 : text.length,
          closed: false,
        });
      }),
      { numRuns: 2000 },
    );
  });

  test("texts halfway between two doubles, and next to that, are rounded as JSON.parse rounds", () => {
    // 19 digits at most: the halves of integers with 54 bits, and of such times a power of two.
    fc.assert(
      fc.property(
        fc.bigInt({ min: 2n ** 53n, max: 2n ** 54n - 1n }),
        fc.nat(6),
        fc.integer({ min: -1, max: 1 }),
        (mantissa, shift, by) => {
          const text = String((mantissa << BigInt(shift)) * 2n + (1n << BigInt(shift)) + BigInt(by));
          for (const element of [text, `${text}.0`, `${text}e0`]) {
            const { values } = scan("double", `${element},`);
            for (const value of values) expect(value).toBe(JSON.parse(element));
          }
        },
      ),
      { numRuns: 2000 },
    );
    expect(scan("double", "9007199254740993,9007199254740992.5,4503599627370497.5]").values).toEqual([
      9_007_199_254_740_992, 9_007_199_254_740_992, 4_503_599_627_370_498,
    ]);
  });

  test.each([
    "12345678901234567890,",
    "1e65,",
    "1e-65,",
    "1e400,",
    `0.${"0".repeat(70)}1,`,
    `1${" ".repeat(3)}`,
  ])("%j is left to others", (text) => {
    expect(scan("double", `1.5,${text}`)).toEqual({ values: [1.5], stoppedAt: 4, closed: false });
  });
});

describe("64-bit integers", () => {
  const anyInteger = fc.oneof(
    fc.integer().map(BigInt),
    fc.nat(1_000_000).map(BigInt),
    fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n, 1_700_000_000_000n),
  );
  const anyForm = fc.constantFrom<(value: bigint) => string>(
    String,
    String,
    (value) => `${value}.0`,
    (value) => `${value}e0`,
    (value) => (value % 100n === 0n ? `${value / 100n}e2` : String(value)),
  );

  test("are exact over the whole range, with a fraction of zeros and with an exponent", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(anyInteger, anyForm), { minLength: 1 }),
        anySeparator,
        (items, separator) => {
          const text = `${items.map(([value, form]) => form(value)).join(separator)}]`;
          const { values, stoppedAt, closed } = scan("int64", text);
          const exact = items.findIndex(([value, form]) => form(value).replace(/[-.]|e.*/g, "").length > 19);
          expect(values).toEqual(items.slice(0, exact < 0 ? items.length : exact).map(([value]) => value));
          if (exact < 0) expect({ stoppedAt, closed }).toEqual({ stoppedAt: text.length - 1, closed: true });
        },
      ),
      { numRuns: 2000 },
    );
  });

  test.each([
    "1.5,",
    "0.1,",
    "9223372036854775808,",
    "-9223372036854775809,",
    "1e19,",
    "5e-1,",
    "1e-30,",
    "null,",
    "01,",
    "-,",
  ])("%s is left to others", (text) => {
    const short = "1,22,333,4444,";
    expect(scan("int64", short + text)).toEqual({
      values: [1n, 22n, 333n, 4444n],
      stoppedAt: short.length,
      closed: false,
    });
  });

  test("zero in every dress is zero", () => {
    expect(scan("int64", "0,-0,0.0,0e5,0e-5,0.000e30]").values).toEqual([0n, 0n, 0n, 0n, 0n, 0n]);
  });
});

describe("bounds", () => {
  test("no more than the limit are read, with any limit", () => {
    const elements = Array.from({ length: 5000 }, (_, k) => (k % 7 === 0 ? k / 4 : k));
    const text = `${elements.join(",")}]`;
    for (const maxCount of [0, 1, 2, 31, 32, 33, 64, 100, 2047, 2048, 2049, 2079, 2080, 1e9]) {
      const { values, stoppedAt } = scan("double", text, maxCount);
      expect(values).toEqual(elements.slice(0, values.length));
      expect(values.length).toBeGreaterThanOrEqual(Math.min(maxCount, 2048));
      expect(values.length).toBeLessThanOrEqual(Math.min(maxCount, 2048));
      expect(text.slice(0, stoppedAt).split(",").length - 1).toBe(values.length);
    }
  });

  test("a number that reaches the end is not taken: more of it may come", () => {
    const text = "1.25,100,1700000000000,33.5";
    for (let end = 0; end <= text.length; end++) {
      const { values, stoppedAt } = scan("double", text.slice(0, end));
      expect(values).toEqual(text.slice(0, end).split(",").slice(0, -1).map(Number));
      expect(stoppedAt).toBe(text.lastIndexOf(",", end - 1) + 1);
    }
  });

  test("the whole of the input is used, up to its last byte", () => {
    const { length } = numberKernel.input;
    numberKernel.input.set(utf8("1.5,".repeat(length / 4)));
    let [from, count] = [0, 0];
    while (from < length) {
      count += numberKernel.scanDoubles(from, length, 1e6).length;
      from = numberKernel.stoppedAt;
    }
    expect(count).toBe(length / 4);
  });
});
