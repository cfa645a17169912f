import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS, dateOfEpochDay, epochDay, parseTradingDate } from "../../src/core/time.js";
import { REGIONS, type Region } from "../../src/market/regions.js";
import {
  addDays,
  closeMinute,
  dayRange,
  finalEnd,
  isWeekday,
  midnightOf,
  nextFinal,
  openMinute,
  SESSION_HOURS,
} from "../../src/market/sessions.js";
import { instantOf, localDate } from "../../src/market/zone.js";

const anyRegion = fc.constantFrom<Region>("CN", "HK", "US");
const anyInstant = fc.integer({ min: Date.UTC(2000, 0, 1), max: Date.UTC(2030, 0, 1) });
const at = (text: string): number => Date.parse(text);

describe("session hours", () => {
  test("parts ascend, and a day's bars are its minutes and an opening auction's", () => {
    for (const { parts, barsPerDay } of Object.values(SESSION_HOURS)) {
      const bounds = parts.flat();
      expect(bounds).toEqual([...bounds].sort((a, b) => a - b));
      const minutes = parts.reduce((sum, [open, close]) => sum + close - open, 0);
      expect(barsPerDay - minutes).toBeOneOf([0, 1]);
    }
    expect([openMinute("CN"), closeMinute("CN")]).toEqual([570, 900]);
  });

  test.each([
    ["2024-03-08", true],
    ["2024-03-09", false],
    ["2024-03-10", false],
    ["1969-12-28", false],
    ["1969-12-29", true],
  ])("%s is a weekday: %s", (date, expected) => {
    expect(isWeekday(parseTradingDate(date))).toBe(expected);
  });

  test("days are added over the ends of months and years", () => {
    expect(addDays(parseTradingDate("2024-02-28"), 2)).toBe("2024-03-01");
    expect(addDays(parseTradingDate("2024-01-01"), -1)).toBe("2023-12-31");
  });
});

describe("what is final", () => {
  test.each<[string, Region, string, string]>([
    ["while the session runs: to the end of yesterday", "CN", "2024-03-07T03:00:00Z", "2024-03-06T16:00:00Z"],
    ["a minute before the day has settled", "CN", "2024-03-07T08:59:00Z", "2024-03-06T16:00:00Z"],
    ["once the day has settled", "CN", "2024-03-07T09:00:00Z", "2024-03-07T16:00:00Z"],
    ["on a Sunday: to the end of Friday", "CN", "2024-03-10T05:00:00Z", "2024-03-08T16:00:00Z"],
    ["on a Monday before the open", "HK", "2024-03-11T00:00:00Z", "2024-03-08T16:00:00Z"],
    ["over the change to summer time", "US", "2024-03-11T12:00:00Z", "2024-03-09T05:00:00Z"],
    ["after the change to summer time", "US", "2024-03-12T02:00:00Z", "2024-03-12T04:00:00Z"],
  ])("%s", (_, region, now, expected) => {
    expect(new Date(finalEnd(region, at(now))).toISOString()).toBe(new Date(at(expected)).toISOString());
  });

  test("what is final changes next at the instant that is named, and not before", () => {
    fc.assert(
      fc.property(anyRegion, anyInstant, (region, now) => {
        const next = nextFinal(region, now);
        expect(next).toBeGreaterThan(now);
        expect(finalEnd(region, next - 1)).toBe(finalEnd(region, now));
        expect(finalEnd(region, next)).toBeGreaterThan(finalEnd(region, now));
      }),
    );
  });

  test("it never shrinks as time goes by, and ends at a local midnight no more than a day ahead", () => {
    fc.assert(
      fc.property(anyRegion, anyInstant, fc.nat(7 * DAY_MS), (region, now, later) => {
        const end = finalEnd(region, now);
        const { zone } = REGIONS[region];
        expect(finalEnd(region, now + later)).toBeGreaterThanOrEqual(end);
        expect(instantOf(localDate(end, zone), zone)).toBe(end);
        expect(end - now).toBeLessThan(DAY_MS);
        expect(now - end).toBeLessThan(4 * DAY_MS);
      }),
    );
  });
});

describe("a day", () => {
  test.each<Region>(["CN", "HK", "US"])("midnight in %s is that of the zone, on any day", (region) => {
    const days: number[] = [];
    for (let day = epochDay(parseTradingDate("1985-01-01")); day < 26_000; day += 3) days.push(day);
    const { zone } = REGIONS[region];
    expect(days.map((day) => midnightOf(region, day))).toEqual(
      days.map((day) => instantOf(dateOfEpochDay(day), zone)),
    );
  });

  test("a day's range is 23, 24 or 25 hours long and meets the next day's", () => {
    fc.assert(
      fc.property(anyRegion, fc.integer({ min: 3652, max: 21_914 }), (region, day) => {
        const date = dateOfEpochDay(day);
        const { start, end } = dayRange(region, date);
        expect((end - start) / 3_600_000).toBeOneOf([23, 24, 25]);
        expect(dayRange(region, addDays(date, 1)).start).toBe(end);
        expect(epochDay(localDate(start, REGIONS[region].zone))).toBe(day);
      }),
    );
  });
});
