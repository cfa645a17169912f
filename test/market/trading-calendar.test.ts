import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS, dateOfEpochDay, epochDay, type TimeRange, type TradingDate } from "../../src/core/time.js";
import { REGIONS, type Region } from "../../src/market/regions.js";
import { dayRange, openMinute } from "../../src/market/sessions.js";
import {
  dateAt,
  dayAt,
  TradingCalendar,
  type TradingDays,
  unknownBetween,
  unknownSpans,
} from "../../src/market/trading-calendar.js";
import { instantOf } from "../../src/market/zone.js";

const spansOf = (...known: string[]) => unknownSpans(known as TradingDate[]);

test("no day is known: every day is unknown", () => {
  expect(spansOf()).toEqual([{ after: undefined, before: undefined }]);
});

test("days before the first and after the last known one are unknown; the holiday of 1999 is not", () => {
  expect(spansOf("1999-02-09", "1999-03-01")).toEqual([
    { after: undefined, before: "1999-02-09" },
    { after: "1999-03-01", before: undefined },
  ]);
});

test("a gap of three weeks is unknown", () => {
  expect(spansOf("2024-02-08", "2024-02-29", "2024-03-01")).toEqual([
    { after: undefined, before: "2024-02-08" },
    { after: "2024-02-08", before: "2024-02-29" },
    { after: "2024-03-01", before: undefined },
  ]);
});

const at = (text: string): number => Date.parse(text);
const datesOf = (days: TradingDays) => Array.from({ length: days.length }, (_, index) => dateAt(days, index));

describe("the days of a range", () => {
  test("they are the open days whose local day overlaps it and whose session has begun (the slow way: day by day)", () => {
    const anyRegion = fc.constantFrom<Region>("CN", "HK", "US");
    const anyStart = fc.integer({ min: Date.UTC(1999, 0, 1), max: Date.UTC(2030, 0, 1) });
    const anySize = fc.integer({ min: -DAY_MS, max: 20 * DAY_MS });
    // One calendar is asked for several ranges, before and after each other: its table grows.
    const anyRanges = fc.array(
      fc.tuple(anyStart, anySize, fc.integer({ min: -3 * DAY_MS, max: 21 * DAY_MS })),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    const anyKnown = fc.uniqueArray(fc.integer({ min: 12_000, max: 12_400 }), { maxLength: 200 });
    fc.assert(
      fc.property(anyRegion, anyRanges, anyKnown, (region, ranges, known) => {
        const dates = known.toSorted((a, b) => a - b).map(dateOfEpochDay);
        const calendar = new TradingCalendar(region, dates);
        for (const [start, size, past] of ranges) {
          const [range, now] = [{ start, end: start + size }, start + past];
          const found = calendar.daysIn(range, now);
          expect(datesOf(found)).toEqual(openDates(calendar, range, now));
          for (const [index, date] of datesOf(found).entries())
            expect(dayAt(found, index)).toEqual(dayRange(region, date as TradingDate));
        }
      }),
    );
  });

  test("a known trading day is in a range where its local day overlaps it (the slow way: day by day)", () => {
    const anyKnown = fc.uniqueArray(fc.integer({ min: 12_000, max: 12_060 }), { maxLength: 20 });
    const anyStart = fc.integer({ min: 11_990 * DAY_MS, max: 12_070 * DAY_MS });
    const anyRegion = fc.constantFrom<Region>("CN", "HK", "US");
    fc.assert(
      fc.property(
        anyRegion,
        anyKnown,
        anyStart,
        fc.integer({ min: 0, max: 9 * DAY_MS }),
        (region, known, start, size) => {
          const dates = known.toSorted((a, b) => a - b).map(dateOfEpochDay);
          const range = { start, end: start + size };
          const overlaps = dates.some((date) => {
            const day = dayRange(region, date);
            return size > 0 && day.start < range.end && day.end > range.start;
          });
          expect(new TradingCalendar(region, dates).hasKnownDay(range)).toBe(overlaps);
        },
      ),
    );
  });

  function openDates(calendar: TradingCalendar, range: TimeRange, now: number): TradingDate[] {
    const { region } = calendar;
    const first = Math.floor(range.start / DAY_MS) - 2;
    return Array.from({ length: 26 }, (_, k) => dateOfEpochDay(first + k)).filter((date) => {
      const day = dayRange(region, date);
      const hasBegun = instantOf(date, REGIONS[region].zone, openMinute(region)) <= now;
      return (
        range.end > range.start &&
        calendar.isOpen(date) &&
        day.start < range.end &&
        day.end > range.start &&
        hasBegun
      );
    });
  }
});

test("a weekday between known days is closed only if a trading day would be known", () => {
  const known = ["2024-03-04", "2024-03-08"] as TradingDate[];
  const asked: TimeRange[] = [];
  const calendar = new TradingCalendar("US", known, (day) => {
    asked.push(day);
    return day.start < at("2024-03-06T12:00:00Z");
  });
  const week = ["2024-03-04", "2024-03-05", "2024-03-06", "2024-03-07", "2024-03-08"] as TradingDate[];
  expect(asked).toEqual(week.slice(1, 4).map((date) => dayRange("US", date)));
  expect(week.filter((date) => calendar.isOpen(date))).toEqual(["2024-03-04", "2024-03-07", "2024-03-08"]);
});

/** Known days: each weekday of March and July 2024. */
const KNOWN = ["2024-03", "2024-07"].flatMap((month) =>
  Array.from({ length: 31 }, (_, n) => `${month}-${String(n + 1).padStart(2, "0")}` as TradingDate).filter(
    (date) => ![0, 6].includes(new Date(date).getUTCDay()),
  ),
);

test.each([
  ["2024-03-01", "2024-03-29", false, "a suspension: the calendar knows the sessions between"],
  ["2024-03-29", "2024-07-01", true, "the gap of the calendar"],
  ["2024-03-01", "2024-07-31", true, "the gap of the calendar, among days that are known"],
  ["2024-05-01", "2024-05-21", false, "20 days within the gap"],
  ["2024-05-01", "2024-05-22", true, "three weeks within the gap"],
  ["2024-03-04", "2024-04-18", false, "from known days 20 days into the gap"],
  ["2024-03-04", "2024-04-19", true, "from known days three weeks into the gap"],
  ["2024-02-10", "2024-03-05", false, "20 days before the first known one"],
  ["2024-02-09", "2024-03-05", true, "three weeks before the first known one"],
  ["2024-07-10", "2024-08-20", false, "20 days after the last known one"],
  ["2024-07-10", "2024-08-21", true, "three weeks after the last known one"],
])("from %s to %s: %s, %s", (last, day, expected) => {
  const isUnknown = unknownBetween(KNOWN);
  expect(isUnknown(epochDay(last as TradingDate), epochDay(day as TradingDate))).toBe(expected);
});
