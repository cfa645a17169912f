import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterRefusedTest, afterWait, type MinuteTurn, testAt } from "../../../src/plan/quota/minute-turn.js";

const MINUTE = 60_000;
const FIRST = { count: 1, since: 0, turnsOverAt: Number.NEGATIVE_INFINITY };

/** Requests at the times of the tests until one passes: a service that begins a minute at `phase`. */
function waitFor(known: MinuteTurn | undefined, from: number, phase: number, latency = 200) {
  const end = phase + Math.ceil((from - phase + 1) / MINUTE) * MINUTE;
  let turn = known;
  let [count, sentAt, refused] = [1, from, 1];
  for (;;) {
    const next = testAt(turn, { ...FIRST, count, since: from + latency }, sentAt + latency);
    expect(next).toBeGreaterThan(sentAt);
    if (next >= end)
      return {
        turn: afterWait(turn, sentAt, { sentAt: next, respondedAt: next + latency }),
        late: next - end,
        refused,
      };
    turn = afterRefusedTest(turn, from + latency, next);
    [sentAt, count, refused] = [next, count + 1, refused + 1];
  }
}

test("pauses double up to 8 seconds, and within a minute one of them ends", () => {
  const pauses = [1, 2, 3, 4, 5, 6].map((count) => testAt(undefined, { ...FIRST, count }, 30_000) - 30_000);
  expect(pauses).toEqual([1000, 2000, 4000, 8000, 8000, 8000]);
  // A minute of refusals has another cause: fewer requests test it.
  expect(testAt(undefined, { ...FIRST, count: 12 }, 70_000)).toBe(100_000);
});

test("a test comes when the oldest own request no longer counts", () => {
  expect(testAt(undefined, { ...FIRST, count: 4, turnsOverAt: 33_000 }, 30_000)).toBe(33_000);
});

describe("a service that counts in fixed minutes", () => {
  test("is late by less than 8 seconds once, and by less than 1.5 from the fourth wait on", () => {
    fc.assert(
      fc.property(
        fc.nat(MINUTE),
        fc.array(fc.integer({ min: 5000, max: 55_000 }), { minLength: 12, maxLength: 12 }),
        (phase, fills) => {
          let turn: MinuteTurn | undefined;
          for (const [minute, fill] of fills.entries()) {
            const wait = waitFor(turn, phase + (minute + 5) * MINUTE + fill, phase);
            ({ turn } = wait);
            expect(wait.late).toBeLessThan(8500);
            if (minute >= 4) expect(wait.late).toBeLessThan(1500);
            if (minute >= 4) expect(wait.refused).toBeLessThanOrEqual(7);
          }
        },
      ),
    );
  });

  test("which begins its minutes at another time is found again", () => {
    let turn: MinuteTurn | undefined;
    for (let minute = 1; minute < 6; minute++) ({ turn } = waitFor(turn, minute * MINUTE + 20_000, 0));
    const moved: number[] = [];
    for (let minute = 7; minute < 14; minute++) {
      const wait = waitFor(turn, minute * MINUTE + 20_000, 47_000);
      ({ turn } = wait);
      moved.push(wait.late);
    }
    expect(Math.max(...moved)).toBeLessThan(34_000);
    expect(Math.max(...moved.slice(4))).toBeLessThan(1500);
  });
});

test("a wait that ends where it should not refutes what was known; a refusal after its end, too", () => {
  const known = { after: 58_000, until: 60_000, seen: 5 };
  expect(
    afterWait(known, 3 * MINUTE + 20_000, { sentAt: 3 * MINUTE + 21_000, respondedAt: 3 * MINUTE + 21_100 }),
  ).toMatchObject({ seen: 1 });
  expect(afterRefusedTest(known, 3 * MINUTE - 20_000, 3 * MINUTE + 500)).toBeUndefined();
  expect(afterRefusedTest(known, 3 * MINUTE - 20_000, 3 * MINUTE - 1500)).toBe(known);
  // A first refusal within the minute says nothing about its turn.
  expect(afterRefusedTest(known, 3 * MINUTE + 9000, 3 * MINUTE + 10_000)).toBe(known);
  // A wait of more than a minute has no single turn in it.
  expect(afterWait(known, 0, { sentAt: MINUTE - 100, respondedAt: MINUTE })).toBe(known);
});
