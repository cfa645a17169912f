import fc from "fast-check";
import { expect, test } from "vitest";
import { pickCases } from "./sweep.js";

test("picked are as many different cases as asked for, the pinned ones among them", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 1, max: 400 }),
      fc.nat(),
      (total, count, n) => {
        const pinned = count > 1 ? [n % total] : [];
        const picked = pickCases(total, count, pinned);
        expect(new Set(picked).size).toBe(Math.min(total, count));
        expect(picked.every((one) => one >= 0 && one < total)).toBe(true);
        expect(picked).toEqual(expect.arrayContaining(pinned));
      },
    ),
  );
});
