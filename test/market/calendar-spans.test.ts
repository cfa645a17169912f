import fc from "fast-check";
import { expect, test } from "vitest";
import { DAY_MS, epochDay } from "../../src/core/time.js";
import { REGIONS } from "../../src/market/regions.js";
import { calendarSpans } from "../../src/market/trading-calendar.js";

/** The dates of each region, as the platform knows them: to make a format takes far longer than to use it. */
const DATES = new Map(
  (["CN", "HK", "US"] as const).map((region) => [
    region,
    new Intl.DateTimeFormat("en-CA", { timeZone: REGIONS[region].zone, dateStyle: "short" }),
  ]),
);

const CHANGES = [
  "1940-06-01T15:00:00Z",
  "1986-05-03T18:00:00Z",
  "1991-09-14T17:00:00Z",
  "2024-03-10T07:00:00Z",
  "2024-11-03T06:00:00Z",
  "2025-12-31T16:00:00Z",
].map(Date.parse);
const anyMoment = fc.oneof(
  fc.integer({ min: Date.UTC(1950, 0, 1), max: Date.UTC(2060, 0, 1) }),
  fc.tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -DAY_MS, max: DAY_MS })).map(([at, by]) => at + by),
);
const firstOf = { day: 10, month: 7, year: 4 } as const;

test("the period of any instant begins and ends where the platform's date changes, in any order of the calls", () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...DATES.keys()),
      fc.constantFrom<keyof typeof firstOf>("day", "month", "year"),
      fc.array(anyMoment, { minLength: 1, maxLength: 20 }),
      (region, unit, moments) => {
        const periodOf = calendarSpans(REGIONS[region].zone, unit);
        const name = (ms: number): string | undefined =>
          DATES.get(region)?.format(ms).slice(0, firstOf[unit]);
        for (const ms of moments) {
          const period = periodOf(ms);
          expect(ms).toBeGreaterThanOrEqual(period.start);
          expect(ms).toBeLessThan(period.end);
          expect(period.first.slice(0, firstOf[unit])).toBe(name(ms));
          expect(period.epochDay).toBe(epochDay(period.first));
          expect([name(period.start), name(period.end - 1)]).toEqual([name(ms), name(ms)]);
          expect(name(period.start - 1)).not.toBe(name(ms));
          expect(name(period.end)).not.toBe(name(ms));
        }
      },
    ),
  );
});
