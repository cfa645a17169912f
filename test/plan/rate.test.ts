import fc from "fast-check";
import { expect, test } from "vitest";
import {
  afterAcceptance,
  afterRefusal,
  initialRate,
  isLearned,
  provenLimit,
  type Rate,
  type Refusal,
} from "../../src/plan/rate.js";

const MINUTE = 60_000;
/** A refusal after a full minute whose told wait fits a service that counts by minutes. */
const FULL: Refusal = { now: 0, accepted: 30, toldMs: 50_000, turnsOverMs: 55_000, isWholeMinute: true };

test("the first refusal shows the limit: what was let through in the minute before, at least one", () => {
  const rate = afterRefusal(initialRate(undefined, undefined, 0), FULL);
  expect([rate.limit, isLearned(rate), provenLimit(rate)]).toEqual([30, true, 30]);
  expect(afterRefusal(initialRate(undefined, undefined, 0), { ...FULL, accepted: 0 }).limit).toBe(1);
});

test("a limit that was said stays: a refusal below it spreads the requests, further ones show a lower one", () => {
  const first = afterRefusal(initialRate(30, undefined, 0), { ...FULL, accepted: 12 });
  expect(first).toMatchObject({ limit: 30, isSpaced: true });
  const second = afterRefusal(first, { ...FULL, accepted: 12 });
  expect(second).toMatchObject({ limit: 15, isSpaced: true });
  expect(isLearned(second)).toBe(true);
});

test("a refusal in the first minute may be another's doing, unless its wait is too short for that", () => {
  const early = { ...FULL, isWholeMinute: false };
  expect(afterRefusal(initialRate(30, undefined, 0), early)).toMatchObject({ limit: 30, isSpaced: false });
  const short = { ...early, toldMs: 2000 };
  expect(afterRefusal(initialRate(30, undefined, 0), short)).toMatchObject({ limit: 30, isSpaced: true });
});

test("a learned limit is tried higher, by more each time it holds; a trial that fails is taken back, the next is later", () => {
  let rate = initialRate(undefined, 10, 0);
  let now = 0;
  const pass = (ms: number): void => {
    now += ms;
    rate = afterAcceptance(rate, now, true);
  };
  pass(2 * MINUTE - 1);
  expect(rate.limit).toBe(10);
  pass(1);
  expect([rate.limit, provenLimit(rate)]).toEqual([11, 10]);
  for (const [limit, proven] of [
    [13, 11],
    [17, 13],
    [25, 17],
  ]) {
    pass(1.25 * MINUTE);
    expect([rate.limit, provenLimit(rate)]).toEqual([limit, proven]);
  }
  rate = afterRefusal(rate, { ...FULL, now });
  expect([rate.limit, provenLimit(rate), rate.patienceMs]).toEqual([17, 17, 4 * MINUTE]);
  pass(3 * MINUTE);
  expect(rate.limit).toBe(17);
  pass(MINUTE);
  expect(rate.limit).toBe(18);
});

test("a limit that nothing presses on, or that was said, is not tried higher", () => {
  const [learned, said] = [initialRate(undefined, 10, 0), initialRate(30, undefined, 0)];
  expect(afterAcceptance(learned, 60 * MINUTE, false)).toBe(learned);
  expect(afterAcceptance(said, 60 * MINUTE, true)).toBe(said);
});

test("whatever a service does, the limit is 1 or more, and never above what was said", () => {
  const event = fc.oneof(
    fc.record({
      now: fc.nat(MINUTE),
      accepted: fc.nat(100),
      toldMs: fc.option(fc.nat(MINUTE), { nil: undefined }),
      turnsOverMs: fc.nat(MINUTE),
      isWholeMinute: fc.boolean(),
    }),
    fc.nat(10 * MINUTE),
  );
  fc.assert(
    fc.property(
      fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
      fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
      fc.array(event, { maxLength: 100 }),
      (configured, learned, events) => {
        let rate: Rate = initialRate(configured, learned, 0);
        let now = 0;
        for (const one of events) {
          now += typeof one === "number" ? one : one.now;
          rate =
            typeof one === "number" ? afterAcceptance(rate, now, true) : afterRefusal(rate, { ...one, now });
          if (rate.limit === undefined) continue;
          expect(rate.limit).toBeGreaterThanOrEqual(1);
          expect(rate.limit).toBeLessThanOrEqual(configured ?? Number.POSITIVE_INFINITY);
          expect(provenLimit(rate) ?? 1).toBeLessThanOrEqual(rate.limit);
        }
      },
    ),
  );
});
