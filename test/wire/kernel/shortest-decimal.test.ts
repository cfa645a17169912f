import { describe, expect, test } from "vitest";
import { ByteWriter, doubleText } from "../../../src/wire/encode/byte-writer.js";
import { numberKernel } from "../../../src/wire/kernel/number-kernel.js";
import { cases } from "../../sweep.js";

const COUNT = cases({ few: 20_000, all: 5_000_000 });
const BLOCK = 10_000;

const bits = new BigUint64Array(1);
const asDouble = new Float64Array(bits.buffer);

function doubleOf(pattern: bigint): number {
  bits[0] = pattern;
  return asDouble[0] as number;
}

/** The double a number of steps above a positive one. */
function stepsFrom(value: number, steps: bigint): number {
  asDouble[0] = value;
  bits[0] = (bits[0] as bigint) + steps;
  return asDouble[0];
}

/** Numbers from 0 to 1, the same for the same seed (Mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

const SEED = Number(
  process.env.TEST_SEED ?? Number.parseInt((process.env.TEST_COMMIT ?? "7").slice(0, 7), 16),
);

/** Values whose texts are not those of {@link doubleText}. */
function wrong(values: readonly number[]): number[] {
  const out = new ByteWriter();
  out.doubles(Float64Array.from(values));
  const texts = new TextDecoder().decode(out.view()).split(",");
  return values.filter((value, k) => texts[k] !== doubleText(value));
}

/** Those of made values whose texts are wrong; checked block by block, so that no list holds all of them. */
function wrongOf(make: (random: () => number) => number): number[] {
  const random = randomFrom(SEED);
  const found: number[] = [];
  for (let done = 0; done < COUNT && found.length === 0; done += BLOCK)
    found.push(...wrong(Array.from({ length: Math.min(BLOCK, COUNT - done) }, () => make(random))));
  return found;
}

/** A bit pattern of 52 bits. */
const anyFraction = (random: () => number): bigint =>
  (BigInt(Math.floor(random() * 2 ** 26)) << 26n) | BigInt(Math.floor(random() * 2 ** 26));

/** The exponents of the doubles from 10^-6 to 2^52, and their neighbours. */
const LEAST_EXPONENT = 1023 - 22;
const EXPONENTS = 76;

describe("doubles are written as String() writes them", () => {
  test("any bits", () => {
    const make = (random: () => number): number => {
      const value = doubleOf((BigInt(Math.floor(random() * 4096)) << 52n) | anyFraction(random));
      return Number.isFinite(value) ? value : 1.5;
    };
    expect(wrongOf(make)).toEqual([]);
  });

  test("any bits of a size that the kernel writes", () => {
    const make = (random: () => number): number => {
      const exponent = LEAST_EXPONENT + Math.floor(random() * EXPONENTS);
      return doubleOf((BigInt(exponent) << 52n) | anyFraction(random));
    };
    expect(wrongOf(make)).toEqual([]);
  });

  test("prices times a factor, sums, and quotients", () => {
    const make = (random: () => number): number => {
      const price = Math.round(random() * 1e6) / 100;
      const kind = Math.floor(random() * 4);
      return (
        [price * (0.5 + random()), price + random() / 1e3, price / 3, -price * 1e4 * random()][kind] ?? price
      );
    };
    expect(wrongOf(make)).toEqual([]);
  });

  test("decimals of 15 to 18 digits, and their neighbours", () => {
    const make = (random: () => number): number => {
      const digits = 15 + Math.floor(random() * 4);
      const text = `${Math.floor(1 + random() * 9e8)}${Math.floor(random() * 1e9)}`.padEnd(digits, "5");
      const value = Number(`${text.slice(0, digits)}e-${Math.floor(random() * 24)}`);
      return stepsFrom(value, BigInt(Math.floor(random() * 3) - 1));
    };
    expect(wrongOf(make)).toEqual([]);
  });

  test("halfway between two decimals", () => {
    const make = (random: () => number): number => {
      // An odd number of eighths, sixteenths, ... ends with 5: the decimal with a digit less is a tie.
      const power = 2 ** Math.floor(random() * 24);
      return (2 * Math.floor(random() * 2 ** 28) + 1) / power;
    };
    expect(wrongOf(make)).toEqual([]);
  });

  test("every power of two, and the doubles next to it", () => {
    const powers = Array.from({ length: 2098 }, (_, k) => 2 ** (k - 1074));
    const near = powers.flatMap((power) => [-2n, -1n, 0n, 1n, 2n].map((steps) => stepsFrom(power, steps)));
    expect(wrong(near.filter((value) => value > 0 && Number.isFinite(value)))).toEqual([]);
  });

  test("every power of ten, and the doubles next to it", () => {
    const powers = Array.from({ length: 632 }, (_, k) => Number(`1e${k - 323}`));
    const near = powers.flatMap((power) => [-2n, -1n, 0n, 1n, 2n].map((steps) => stepsFrom(power, steps)));
    expect(wrong(near.filter((value) => value > 0 && Number.isFinite(value)))).toEqual([]);
  });

  test("subnormal ones", () => {
    expect(wrongOf((random) => doubleOf(anyFraction(random) >> BigInt(Math.floor(random() * 52))))).toEqual(
      [],
    );
  });
});

test("the kernel itself writes every double from 10^-6 to 2^52", () => {
  const random = randomFrom(SEED);
  const values = Float64Array.from({ length: numberKernel.most }, () => {
    const exponent = LEAST_EXPONENT + 3 + Math.floor(random() * (EXPONENTS - 5));
    return doubleOf((BigInt(exponent) << 52n) | anyFraction(random));
  });
  numberKernel.loadDoubles(values);
  expect(numberKernel.writeDoubles(0, values.length)).toBe(values.length);
  expect(new TextDecoder().decode(numberKernel.text)).toBe(`${[...values].map(doubleText).join(",")},`);
});

test.each([9.99999999999999e-7, 2 ** 52, 2 ** 53 + 2, 1e300, Number.NaN, Infinity])(
  "%d is left to others",
  (value) => {
    numberKernel.loadDoubles(Float64Array.of(1.5, value, 2.5));
    expect(numberKernel.writeDoubles(0, 3)).toBe(1);
  },
);
