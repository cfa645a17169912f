import fc from "fast-check";
import { expect, test } from "vitest";
import { freeAt, recentSends, type Send, usedInMinute } from "../../../src/plan/quota/send-log.js";

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
