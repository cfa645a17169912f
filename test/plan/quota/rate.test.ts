import fc from "fast-check";
import { expect, test } from "vitest";
import {
  afterAcceptance,
  afterRefusal,
  initialRate,
  isLearned,
  type Rate,
  type Refusal,
  tryAt,
  tryHigher,
} from "../../../src/plan/quota/rate.js";

const MINUTE = 60_000;
/** A refusal after a full minute, by a service that counts by minutes. */
const FULL: Refusal = {
  now: 0,
  accepted: 30,
  retryAfterMs: 50_000,
  resumesAt: 50_000,
  turnsOverMs: 55_000,
  isWholeMinute: true,
};
const again = (refusal: Refusal, more: Partial<Refusal> = {}): Refusal => {
  const now = refusal.resumesAt + 1000;
  return { ...refusal, now, resumesAt: now + (refusal.retryAfterMs ?? 1000), ...more };
};
const UNKNOWN = initialRate(undefined, undefined, 0);

test("a single refusal teaches nothing, and is forgotten once as much was accepted as before it", () => {
  const once = afterRefusal(UNKNOWN, { ...FULL, accepted: 2 });
  expect([once.limit, isLearned(once)]).toEqual([undefined, false]);
  const whole = afterAcceptance(once, { now: 55_000, sinceWait: 3 });
  expect(whole.suspicion).toBeUndefined();
  expect(afterAcceptance(once, { now: 55_000, sinceWait: 2 }).suspicion).toEqual(once.suspicion);
  expect(afterRefusal(whole, again(FULL, { accepted: 2 })).limit).toBeUndefined();
});

test("a second refusal before that shows the limit: the least that was accepted, at least one", () => {
  const once = afterRefusal(UNKNOWN, FULL);
  expect(afterRefusal(once, again(FULL, { accepted: 32 })).limit).toBe(30);
  expect(afterRefusal(once, again(FULL, { accepted: 0 })).limit).toBe(1);
  // Much later it is another story.
  expect(afterRefusal(once, again(FULL, { now: 10 * MINUTE })).limit).toBeUndefined();
});

test("short waits cost little: only many of them in a row teach, first that bursts are refused", () => {
  const short = { ...FULL, retryAfterMs: 150, resumesAt: 150, accepted: 12 };
  let rate = initialRate(60, undefined, 0);
  for (let i = 0; i < 20; i++) {
    rate = afterRefusal(rate, short);
    for (let k = 0; k < 50; k++) rate = afterAcceptance(rate, { now: i, sinceWait: k });
  }
  expect(rate).toMatchObject({ limit: 60, isSpaced: false });
  for (let i = 0; i < 3; i++) rate = afterRefusal(rate, short);
  expect(rate).toMatchObject({ limit: 60, isSpaced: true });
  for (let i = 0; i < 3; i++) rate = afterRefusal(rate, short);
  expect(rate).toMatchObject({ limit: 12, isSpaced: true });
});

test("a stored limit is a hint: it is tried higher as soon as it is used up, by more each time", () => {
  let rate = initialRate(undefined, 10, 0);
  expect(tryAt(rate)).toBe(0);
  for (const limit of [11, 13, 17, 25, 41]) {
    rate = tryHigher(rate, rate.limit as number, 1000);
    expect(rate).toMatchObject({ limit, proven: 10 });
  }
  const end = afterRefusal(rate, { ...FULL, now: 2000, accepted: 40 });
  expect(end).toMatchObject({ limit: 40, proven: undefined, confirmed: 40 });
  // What a part of a minute shows is used, and not stored.
  expect(afterRefusal(rate, { ...FULL, accepted: 40, isWholeMinute: false }).confirmed).toBeUndefined();
  expect(tryAt(end)).toBe(FULL.resumesAt + 1000);
});

test("a trial that gains nothing is repeated ever later, at most a minute and a half later", () => {
  let rate = initialRate(undefined, 30, 0);
  const pauses: number[] = [];
  for (let i = 0; i < 9; i++) {
    rate = afterRefusal(tryHigher(rate, 30, 0), FULL);
    expect(rate.limit).toBe(30);
    pauses.push((tryAt(rate) - FULL.resumesAt) / 1000);
  }
  expect(pauses).toEqual([2, 4, 8, 16, 32, 64, 90, 90, 90]);
});

test("a trial that holds has succeeded; a refusal that own requests do not explain ends it without a lesson", () => {
  const trial = tryHigher(initialRate(undefined, 30, 0), 30, 0);
  expect(afterAcceptance(trial, { now: 1.25 * MINUTE - 1, sinceWait: 0 }).proven).toBe(30);
  expect(afterAcceptance(trial, { now: 1.25 * MINUTE, sinceWait: 0 })).toMatchObject({
    limit: 31,
    proven: undefined,
  });
  expect(afterRefusal(trial, { ...FULL, accepted: 3 })).toMatchObject({ limit: 30, proven: undefined });
});

test("a small gain is taken back by the first refusal after it", () => {
  const gained = afterRefusal(tryHigher(tryHigher(initialRate(undefined, 30, 0), 30, 0), 31, 0), {
    ...FULL,
    accepted: 32,
  });
  expect(gained.limit).toBe(32);
  expect(afterRefusal(gained, again(FULL)).limit).toBe(30);
});

test("a configured limit is never tried higher", () => {
  expect(tryAt(initialRate(30, undefined, 0))).toBe(Number.POSITIVE_INFINITY);
  expect(tryAt(initialRate(30, 20, 0))).toBe(0);
});

test("with any service, the limit is 1 or more, and never above what was configured", () => {
  const refusal = fc.record({
    now: fc.nat(MINUTE),
    accepted: fc.nat(100),
    retryAfterMs: fc.option(fc.nat(MINUTE), { nil: undefined }),
    resumesAt: fc.nat(2 * MINUTE),
    turnsOverMs: fc.nat(MINUTE),
    isWholeMinute: fc.boolean(),
  });
  const event = fc.oneof(refusal, fc.nat(10 * MINUTE), fc.constant("try" as const));
  const limit = fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined });
  fc.assert(
    fc.property(limit, limit, fc.array(event, { maxLength: 100 }), (configured, learned, events) => {
      let rate: Rate = initialRate(configured, learned, 0);
      let now = 0;
      for (const one of events) {
        now += typeof one === "number" ? one : 1000;
        if (one === "try") {
          if (now >= tryAt(rate)) rate = tryHigher(rate, rate.limit ?? 0, now);
        } else if (typeof one === "number") rate = afterAcceptance(rate, { now, sinceWait: one % 50 });
        else rate = afterRefusal(rate, { ...one, now, resumesAt: now + one.resumesAt });
        if (rate.limit === undefined) continue;
        expect(rate.limit).toBeGreaterThanOrEqual(1);
        expect(rate.limit).toBeLessThanOrEqual(configured ?? Number.POSITIVE_INFINITY);
        expect(rate.proven ?? 1).toBeLessThanOrEqual(rate.limit);
      }
    }),
  );
});
