import fc from "fast-check";
import { expect, test } from "vitest";
import { dateOfEpochDay } from "../../src/core/time.js";
import { holesIn } from "../../src/market/holes.js";
import { UNKNOWN_DAYS } from "../../src/market/trading-calendar.js";

const FIRST = 19_000;
const day = fc.nat(120).map((n) => FIRST + n);
const days = fc.uniqueArray(day, { maxLength: 100 }).map((all) => all.sort((a, b) => a - b));
const stretches = fc
  .uniqueArray(day, { maxLength: 12 })
  .map((all) => all.sort((a, b) => a - b))
  .map((all) => all.slice(0, all.length - (all.length % 2)));

test("a hole is a session without a response about it, or three weeks that no calendar knows", () => {
  fc.assert(
    fc.property(days, stretches, day, day, (sessions, absences, one, other) => {
      const [last, next] = [Math.min(one, other), Math.max(one, other)];
      const isHole = holesIn({
        tradingDays: new Map([["CN", sessions.map(dateOfEpochDay)]]),
        absences: new Map([["600000.SH", absences]]),
      })({ symbol: "600000.SH", region: "CN" });
      const absent = new Set<number>();
      for (let at = 0; at < absences.length; at += 2)
        if ((absences[at] as number) > last && (absences[at + 1] as number) < next)
          for (let n = absences[at] as number; n <= (absences[at + 1] as number); n++) absent.add(n);
      const between = sessions.filter((session) => last < session && session < next);
      const known = [last, ...between, next];
      const isUnknown = known.some((at, n) => n > 0 && at - (known[n - 1] as number) >= UNKNOWN_DAYS);
      expect(isHole(last, next)).toBe(isUnknown || between.some((session) => !absent.has(session)));
    }),
    { numRuns: 2000 },
  );
});
