import fc from "fast-check";
import { expect, test } from "vitest";
import { requestQuota } from "../../src/serve/request-quota.js";

test("never lets more than its number pass in any minute, and says when the next may", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.nat(30_000), { maxLength: 60 }),
      (limit, gaps) => {
        const quota = requestQuota(limit);
        const passed: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          const wait = quota.take(0, now);
          const recent = passed.filter((at) => at > now - 60_000).length;
          if (recent < limit) {
            expect(wait).toBe(0);
            passed.push(now);
          } else {
            expect(wait).toBeGreaterThan(0);
            expect(passed.filter((at) => at > now + wait - 60_000).length).toBeLessThan(limit);
            expect(passed.filter((at) => at > now + wait - 1 - 60_000).length).toBe(limit);
          }
        }
      },
    ),
  );
});

test("counts each key for itself", () => {
  const quota = requestQuota(1);
  expect([quota.take(0, 5), quota.take(1, 5), quota.take(0, 5), quota.take(1, 60_005)]).toEqual([
    0, 0, 60_000, 0,
  ]);
});

test("is not stopped by a clock that is set back", () => {
  const quota = requestQuota(1);
  expect(quota.take(0, 1_000_000)).toBe(0);
  expect(quota.take(0, 5)).toBe(0);
});
