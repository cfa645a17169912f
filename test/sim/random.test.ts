import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { bell, integer, logUniform, mix, mixText, uniform } from "../../src/sim/random.js";

const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });

describe("counter-based randomness", () => {
  test("different values under one hash never meet", () => {
    fc.assert(
      fc.property(int32, int32, int32, (hash, a, b) => {
        expect(mix(hash, a) === mix(hash, b)).toBe(a === b);
      }),
    );
  });

  test("draws are within their bounds", () => {
    fc.assert(
      fc.property(int32, fc.nat(1000), fc.integer({ min: 1, max: 5000 }), (key, n, end) => {
        expect(uniform(key, n)).toBeGreaterThanOrEqual(0);
        expect(uniform(key, n)).toBeLessThan(1);
        expect(integer(key, n, end)).toBeLessThan(end);
        expect(Math.abs(bell(key, n))).toBeLessThanOrEqual(3.5);
        expect(logUniform(key, n, [2, 50])).toBeGreaterThanOrEqual(2);
        expect(logUniform(key, n, [2, 50])).toBeLessThanOrEqual(50);
      }),
    );
  });

  test("the bell has mean 0 and deviation 1, and neighbouring keys are not alike", () => {
    const draws = Array.from({ length: 20_000 }, (_, i) => bell(mix(7, i), 0));
    const mean = draws.reduce((a, b) => a + b) / draws.length;
    const variance = draws.reduce((a, b) => a + b * b, 0) / draws.length;
    const lagged = draws.slice(1).reduce((sum, x, i) => sum + x * (draws[i] as number), 0) / draws.length;
    expect(Math.abs(mean)).toBeLessThan(0.03);
    expect(Math.abs(variance - 1)).toBeLessThan(0.03);
    expect(Math.abs(lagged)).toBeLessThan(0.03);
  });

  test("texts that differ hash differently", () => {
    const hashes = Array.from({ length: 10_000 }, (_, i) => mixText(1, `${i}.SH`));
    expect(new Set(hashes).size).toBe(10_000);
  });
});
