import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dateOfEpochDay, MINUTE_MS, parseTradingDate } from "../../src/core/time.js";
import { instantOf, localDate } from "../../src/market/zone.js";

const ZONES = ["Asia/Shanghai", "Asia/Hong_Kong", "America/New_York"] as const;

/** What a clock in the zone shows, by the platform: an independent reading. */
function wallClock(ms: number, zone: string): string {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" });
  return format.format(ms);
}

const iso = (ms: number): string => new Date(ms).toISOString();

describe("instants", () => {
  test.each([
    [
      "the hour after the one that was skipped",
      "2024-03-10",
      "America/New_York",
      180,
      "2024-03-10T07:00:00.000Z",
    ],
    [
      "a time that was skipped, west of Greenwich",
      "2024-03-10",
      "America/New_York",
      150,
      "2024-03-10T07:30:00.000Z",
    ],
    [
      "a time that was skipped, east of Greenwich",
      "1986-05-04",
      "Asia/Shanghai",
      150,
      "1986-05-03T18:30:00.000Z",
    ],
    [
      "the hour after the one that came twice",
      "2024-11-03",
      "America/New_York",
      120,
      "2024-11-03T07:00:00.000Z",
    ],
    [
      "a minute past midnight, said as a minute of the day before",
      "2024-01-14",
      "Asia/Hong_Kong",
      1441,
      "2024-01-14T16:01:00.000Z",
    ],
  ])("%s", (_, date, zone, minute, expected) => {
    expect(iso(instantOf(parseTradingDate(date), zone, minute))).toBe(expected);
  });

  test("a clock in the zone shows what was asked for, on every day of 1980 to 2030 and at every time from 4:00 on", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.integer({ min: 3652, max: 21_914 }),
        fc.integer({ min: 240, max: 1439 }),
        (zone, day, minute) => {
          const date = dateOfEpochDay(day);
          const time = `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
          const instant = instantOf(date, zone, minute);
          expect(wallClock(instant, zone)).toBe(`${date} ${time}`);
          expect(localDate(instant, zone)).toBe(date);
        },
      ),
      { numRuns: 500 },
    );
  });

  test("a day begins at its midnight and not a minute earlier", () => {
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), fc.integer({ min: 3652, max: 21_914 }), (zone, day) => {
        const midnight = instantOf(dateOfEpochDay(day), zone);
        expect(localDate(midnight, zone)).toBe(dateOfEpochDay(day));
        expect(localDate(midnight - MINUTE_MS, zone)).toBe(dateOfEpochDay(day - 1));
      }),
      { numRuns: 500 },
    );
  });
});
