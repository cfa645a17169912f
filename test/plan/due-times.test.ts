import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TradingDate } from "../../src/core/time.js";
import { REGIONS, type Region } from "../../src/market/regions.js";
import { addDays, isWeekday } from "../../src/market/sessions.js";
import { instantOf, localDate } from "../../src/market/zone.js";
import { cronFault, type IsTradingDay, nextDue, type ScheduleRule } from "../../src/plan/due-times.js";

const weekdays: IsTradingDay = (_, date) => isWeekday(date);

function following(
  rules: readonly ScheduleRule[],
  after: string,
  n: number,
  isTradingDay = weekdays,
): string[] {
  const found: string[] = [];
  let at = Date.parse(after);
  for (let i = 0; i < n; i++) {
    const next = nextDue(rules, at, isTradingDay);
    if (next === undefined) break;
    found.push(new Date(next).toISOString().replace(":00.000Z", "Z"));
    at = next;
  }
  return found;
}

const at = (time: string, region: Region, days: "trading" | "daily" = "trading"): ScheduleRule => ({
  at: [time],
  region,
  days,
});

describe("the next due times of", () => {
  test.each<[string, ScheduleRule[], string, string[]]>([
    [
      "a time in Shanghai, over a weekend",
      [at("18:30", "CN")],
      "2026-11-19T00:00:00Z",
      ["2026-11-19T10:30Z", "2026-11-20T10:30Z", "2026-11-23T10:30Z"],
    ],
    [
      "a time in Shanghai, on a Sunday that is still Saturday in New York",
      [at("01:00", "CN")],
      "2026-11-20T17:00:00Z",
      ["2026-11-22T17:00Z", "2026-11-23T17:00Z"],
    ],
    [
      "a time in New York while its clocks go back",
      [at("21:30", "US")],
      "2026-10-29T12:00:00Z",
      ["2026-10-30T01:30Z", "2026-10-31T01:30Z", "2026-11-03T02:30Z"],
    ],
    [
      "a time in New York while its clocks go forward",
      [at("21:30", "US", "daily")],
      "2026-03-07T12:00:00Z",
      ["2026-03-08T02:30Z", "2026-03-09T01:30Z", "2026-03-10T01:30Z"],
    ],
    [
      "a time that the change of clocks skips: once they have changed",
      [at("02:30", "US", "daily")],
      "2026-03-07T00:00:00Z",
      ["2026-03-07T07:30Z", "2026-03-08T07:00Z", "2026-03-09T06:30Z"],
    ],
    [
      "a time that the change of clocks repeats: once",
      [at("01:30", "US", "daily")],
      "2026-10-31T00:00:00Z",
      ["2026-10-31T05:30Z", "2026-11-01T05:30Z", "2026-11-02T06:30Z"],
    ],
    [
      "several times and zones, soonest first; what falls together is one",
      [{ at: ["18:30", "11:45"], region: "CN", days: "trading" }, at("18:30", "HK"), at("21:30", "US")],
      "2026-11-19T00:00:00Z",
      ["2026-11-19T02:30Z", "2026-11-19T03:45Z", "2026-11-19T10:30Z", "2026-11-20T02:30Z"],
    ],
    [
      "a cron expression, in UTC where no region is given, at weekends too",
      [{ cron: "0 */12 * * *", days: "daily" }],
      "2026-11-20T23:00:00Z",
      ["2026-11-21T00:00Z", "2026-11-21T12:00Z"],
    ],
    [
      "a cron expression on trading days",
      [{ cron: "0 17 * * *", region: "HK", days: "trading" }],
      "2026-11-20T08:00:00Z",
      ["2026-11-20T09:00Z", "2026-11-23T09:00Z"],
    ],
    [
      "a cron expression of every second, which begins when the trading day does",
      [{ cron: "* * * * * *", region: "CN", days: "trading" }],
      "2026-11-20T15:59:59Z",
      ["2026-11-22T16:00Z"],
    ],
  ])("%s", (_, rules, after, expected) => {
    expect(following(rules, after, expected.length)).toEqual(expected);
  });
});

test("a time is due after an instant, not at it", () => {
  const due = Date.parse("2026-11-19T10:30:00Z");
  expect(nextDue([at("18:30", "CN")], due - 1, weekdays)).toBe(due);
  expect(nextDue([at("18:30", "CN")], due, weekdays)).toBeGreaterThan(due);
});

test("holidays are those of the region that the rule is of", () => {
  const holiday: IsTradingDay = (region, date) =>
    isWeekday(date) && !(region === "CN" && date === "2026-11-19");
  expect(following([at("18:30", "CN")], "2026-11-19T00:00:00Z", 1, holiday)).toEqual(["2026-11-20T10:30Z"]);
  expect(following([at("18:30", "HK")], "2026-11-19T00:00:00Z", 1, holiday)).toEqual(["2026-11-19T10:30Z"]);
});

test("what is never due has no time", () => {
  expect(nextDue([], 0, weekdays)).toBeUndefined();
  expect(nextDue([at("18:30", "CN")], 0, () => false)).toBeUndefined();
});

/** A time of day that no change of clocks skips or repeats. */
const minuteOfDay = fc.integer({ min: 3 * 60, max: 24 * 60 - 1 });
const instant = fc.integer({ min: Date.parse("2020-01-01"), max: Date.parse("2030-01-01") });

test("it is the first that a walk from day to day finds", () => {
  const region = fc.constantFrom<Region>("CN", "HK", "US");
  fc.assert(
    fc.property(region, minuteOfDay, instant, fc.boolean(), (where, minute, after, trading) => {
      const { zone } = REGIONS[where];
      const isDue = (date: TradingDate): boolean =>
        instantOf(date, zone, minute) > after && (!trading || isWeekday(date));
      let date = localDate(after, zone);
      while (!isDue(date)) date = addDays(date, 1);
      const time = `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
      const rule = at(time, where, trading ? "trading" : "daily");
      expect(nextDue([rule], after, weekdays)).toBe(instantOf(date, zone, minute));
    }),
  );
});

test.each([
  ["61 * * * *", /minute: 61/],
  ["* * *", /exactly five, six/],
  ["* * * * * * 2030", /5 or 6 parts/],
  ["0 0 30 2 *", /is never due/],
  ["2099-01-01T00:00:00", /is a date/],
  ["", /exactly five/],
])("the cron expression %j is refused", (expression, message) => {
  expect(cronFault(expression)).toMatch(message);
});

test("right cron expressions have no fault", () => {
  for (const one of ["30 17 * * 1-5", "*/2 * * * * *", "@daily"]) expect(cronFault(one)).toBeUndefined();
});
