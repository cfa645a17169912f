import fc from "fast-check";
import { expect, test } from "vitest";
import { lowerBound } from "../../src/core/lower-bound.js";

test("the first index at which the condition holds, or the end", () => {
  fc.assert(
    fc.property(fc.nat(50), fc.nat(50), fc.nat(120), (start, length, first) => {
      const asked: number[] = [];
      const found = lowerBound(start, start + length, (index) => {
        asked.push(index);
        return index >= first;
      });
      expect(found).toBe(Math.min(Math.max(first, start), start + length));
      expect(asked.length).toBeLessThanOrEqual(Math.ceil(Math.log2(length + 1)));
      for (const index of asked) expect(index >= start && index < start + length).toBe(true);
    }),
  );
});
