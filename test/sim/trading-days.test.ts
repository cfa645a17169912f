import { describe, expect, test } from "vitest";
import { epochDay } from "../../src/core/time.js";
import { REGIONS, type Region } from "../../src/market/regions.js";
import { isWeekday } from "../../src/market/sessions.js";
import { localDate } from "../../src/market/zone.js";
import { dayIndexAtOrAfter, isTradingDay, regionCalendar } from "../../src/sim/trading-days.js";
import { date, END, MARKET, SPEC } from "./sample-market.js";

describe.each(["CN", "HK", "US"] as const)("trading days of %s", (region: Region) => {
  const days = MARKET.tradingDays(region);

  test("are as many as asked for, ascending weekdays, up to the end", () => {
    expect(days).toHaveLength(SPEC.days);
    expect([...days].sort()).toEqual(days);
    expect(new Set(days).size).toBe(days.length);
    expect(days.every(isWeekday)).toBe(true);
    expect((days.at(-1) as string) <= END).toBe(true);
  });

  test("leave out holidays", () => {
    const first = epochDay(days[0] as never);
    const weekdays = Array.from({ length: epochDay(days.at(-1) as never) - first + 1 }, (_, i) => i + first);
    expect(weekdays.filter((d) => (d + 4) % 7 !== 0 && (d + 4) % 7 !== 6).length).toBeGreaterThan(
      days.length + 5,
    );
  });

  test("have their midnight in the region's own zone", () => {
    const calendar = regionCalendar(region, 1, 300, END);
    for (const [i, midnight] of calendar.midnights.entries()) {
      expect(localDate(midnight, REGIONS[region].zone)).toBe(calendar.dates[i]);
      expect(localDate(midnight - 1, REGIONS[region].zone)).not.toBe(calendar.dates[i]);
    }
  });

  test("are found by date", () => {
    const calendar = regionCalendar(region, 1, 50, END);
    for (const [i, day] of calendar.epochDays.entries()) expect(dayIndexAtOrAfter(calendar, day)).toBe(i);
    expect(dayIndexAtOrAfter(calendar, epochDay(END) + 1)).toBe(50);
    expect(dayIndexAtOrAfter(calendar, 0)).toBe(0);
  });
});

test("China rests for a whole week in October", () => {
  expect(MARKET.tradingDays("CN").filter((day) => day.startsWith("2026-10-0") && day < "2026-10-08")).toEqual(
    [],
  );
  expect(isTradingDay("CN", date("2026-10-08"))).toBe(true);
  expect(isTradingDay("US", date("2026-10-06"))).toBe(true);
});
