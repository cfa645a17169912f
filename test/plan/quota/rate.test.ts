import fc from "fast-check";
import { expect, test } from "vitest";
import {
  afterAcceptance,
  afterRefusal,
  freeAt,
  initialRate,
  isLearned,
  type Rate,
  type Refusal,
  recentSends,
  type Send,
  testAt,
  tryAt,
  tryHigher,
  usedInMinute,
} from "../../../src/plan/quota/rate.js";

const MINUTE = 60_000;

/** A request: how long its caller thinks first, how long it travels, and how long its response takes after that. */
const request = fc.record({ thinkMs: fc.nat(9000), travelMs: fc.nat(1000), responseMs: fc.nat(70_000) });

test("a sender that respects the free quota is never above the limit in any minute of the service, and is late by the margin at most", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 6 }), fc.array(request, { maxLength: 60 }), (limit, requests) => {
      const sends: Send[] = [];
      const ends: number[] = [];
      const arrivals: number[] = [];
      let now = 0;
      for (const { thinkMs, travelMs, responseMs } of requests) {
        const expected = now + thinkMs;
        for (const [i, send] of sends.entries())
          if ((ends[i] as number) <= expected) send.respondedAt = ends[i] as number;
        now = Math.max(expected, freeAt(sends, limit));
        if (now > expected) expect(now - (sends.at(-limit)?.sentAt ?? 0)).toBeLessThanOrEqual(MINUTE + 1025);
        sends.push({ sentAt: now });
        arrivals.push(now + travelMs);
        ends.push(now + travelMs + responseMs);
      }
      for (const at of arrivals)
        expect(arrivals.filter((other) => other > at - MINUTE && other <= at).length).toBeLessThanOrEqual(
          limit,
        );
    }),
  );
});

test("a response shows that its request had arrived; what was refused does not count", () => {
  expect(freeAt([{ sentAt: 0 }], 1)).toBe(MINUTE + 1025);
  expect(freeAt([{ sentAt: 0, respondedAt: 40 }], 1)).toBe(MINUTE + 65);
  expect(freeAt([{ sentAt: 0, respondedAt: 4000 }], 1)).toBe(MINUTE + 1025);
  expect(freeAt([{ sentAt: 0, respondedAt: 40, isRefused: true }], 1)).toBe(Number.NEGATIVE_INFINITY);
  expect(freeAt([{ sentAt: 0, respondedAt: 0 }], 0.25)).toBe(4 * MINUTE + 25);
  expect(freeAt([], 1)).toBe(Number.NEGATIVE_INFINITY);
});

/** A request of a log: how long after the one before it was sent, when its response came, and whether it was refused. */
const logged = fc.record({
  gapMs: fc.oneof(fc.nat(3), fc.nat(1500)),
  responseMs: fc.option(fc.nat(1500), { nil: undefined }),
  isRefused: fc.boolean(),
});

test("a place is free as soon as all arrivals in order say so", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 9 }), fc.array(logged, { maxLength: 40 }), (limit, log) => {
      let sentAt = 0;
      const sends = log.map(({ gapMs, responseMs, isRefused }): Send => {
        sentAt += gapMs;
        return { sentAt, isRefused, ...(responseMs !== undefined && { respondedAt: sentAt + responseMs }) };
      });
      const arrivals = sends
        .filter(({ isRefused }) => !isRefused)
        .map((send) => Math.min(send.respondedAt ?? Number.POSITIVE_INFINITY, send.sentAt + 1000))
        .sort((a, b) => b - a);
      const nth = arrivals[limit - 1];
      expect(freeAt(sends, limit)).toBe(nth === undefined ? Number.NEGATIVE_INFINITY : nth + MINUTE + 25);
    }),
    { numRuns: 500 },
  );
});

test("the last minute is counted, and what can no longer matter is forgotten", () => {
  const sends = [-MINUTE, 1 - MINUTE, -5, 0, 7].map((sentAt): Send => ({ sentAt }));
  expect(usedInMinute([...sends, { sentAt: 0, isRefused: true }], 0)).toBe(3);
  const later = 1000 + 25;
  expect(recentSends(sends, 30, later).map(({ sentAt }) => sentAt)).toEqual([1 - MINUTE, -5, 0, 7]);
  expect(recentSends(sends, 30, 5).map(({ sentAt }) => sentAt)).toEqual([-MINUTE, 1 - MINUTE, -5, 0]);
  expect(recentSends(sends, 0.5, later)).toHaveLength(5);
});

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
  const whole = afterAcceptance(once, 55_000, 3);
  expect(whole.unexplained).toBeUndefined();
  expect(afterAcceptance(once, 55_000, 2).unexplained).toEqual(once.unexplained);
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
    for (let k = 0; k < 50; k++) rate = afterAcceptance(rate, i, k);
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
  expect(afterAcceptance(trial, 1.25 * MINUTE - 1, 0).proven).toBe(30);
  expect(afterAcceptance(trial, 1.25 * MINUTE, 0)).toMatchObject({
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
        } else if (typeof one === "number") rate = afterAcceptance(rate, now, one % 50);
        else rate = afterRefusal(rate, { ...one, now, resumesAt: now + one.resumesAt });
        if (rate.limit === undefined) continue;
        expect(rate.limit).toBeGreaterThanOrEqual(1);
        expect(rate.limit).toBeLessThanOrEqual(configured ?? Number.POSITIVE_INFINITY);
        expect(rate.proven ?? 1).toBeLessThanOrEqual(rate.limit);
      }
    }),
  );
});

const FIRST = { count: 1, since: 0, turnsOverAt: Number.NEGATIVE_INFINITY };

test("pauses double up to 8 seconds, and within a minute one of them ends", () => {
  const pauses = [1, 2, 3, 4, 5, 6].map((count) => testAt({ ...FIRST, count }, 30_000) - 30_000);
  expect(pauses).toEqual([1000, 2000, 4000, 8000, 8000, 8000]);
  // A minute of refusals has another cause: fewer requests test it.
  expect(testAt({ ...FIRST, count: 12 }, 70_000)).toBe(100_000);
});

test("a test comes when the oldest own request no longer counts", () => {
  expect(testAt({ ...FIRST, count: 4, turnsOverAt: 33_000 }, 30_000)).toBe(33_000);
});
