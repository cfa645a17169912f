import fc from "fast-check";
import { expect, test } from "vitest";
import { requestQuota } from "../../../src/serve/http/request-quota.js";

test("never lets more than its number pass in any minute, and says when the next may", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.nat(30_000), { maxLength: 60 }),
      (limit, gaps) => {
        const quota = requestQuota();
        const passed: number[] = [];
        let now = 0;
        for (const gap of gaps) {
          now += gap;
          const wait = quota.take("a", now, limit);
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
  const quota = requestQuota();
  expect([
    quota.take("a", 5, 1),
    quota.take("b", 5, 1),
    quota.take("a", 5, 1),
    quota.take("b", 60_005, 1),
  ]).toEqual([0, 0, 60_000, 0]);
});

test("is not stopped by a clock that is set back", () => {
  const quota = requestQuota();
  expect(quota.take("a", 1_000_000, 1)).toBe(0);
  expect(quota.take("a", 5, 1)).toBe(0);
});
