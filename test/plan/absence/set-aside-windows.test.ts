import { expect, test } from "vitest";
import { TradingCalendar } from "../../../src/market/trading-calendar.js";
import { setAsideWindows } from "../../../src/plan/absence/judge-response.js";

const DAY = 86_400_000;
/** Midnight of a Monday in Shanghai. */
const MONDAY = Date.parse("2024-01-07T16:00:00Z");
const NOW = Date.parse("2024-12-01T00:00:00Z");

/** The windows of bars on some days after the Monday, of a request for ten weeks. */
function windowsOf(...days: readonly number[]) {
  const window = { start: MONDAY, end: MONDAY + 70 * DAY };
  const times = days.map((day) => MONDAY + day * DAY);
  const found = setAsideWindows(times, { window, days: new TradingCalendar("CN").daysIn(window, NOW) });
  return found?.map(({ window: { start, end }, bars }) => [
    (start - MONDAY) / DAY,
    (end - MONDAY) / DAY,
    bars,
  ]);
}

test("the days of the bars, with neighbours joined, also across a weekend", () => {
  expect(windowsOf(1)).toEqual([[1, 2, 1]]);
  expect(windowsOf(9, 2, 1, 2)).toEqual([
    [1, 3, 3],
    [9, 10, 1],
  ]);
  expect(windowsOf(3, 4, 7)).toEqual([[3, 8, 3]]);
});

test("a day of the window's edge is not longer than the window", () => {
  const window = { start: MONDAY + DAY / 2, end: MONDAY + DAY };
  const days = new TradingCalendar("CN").daysIn(window, NOW);
  expect(setAsideWindows([MONDAY + 0.6 * DAY], { window, days })).toEqual([{ window, bars: 1 }]);
});

test("many separate days are joined to one window", () => {
  expect(windowsOf(0, 2, 4, 8, 10, 15, 17, 22)).toHaveLength(8);
  expect(windowsOf(...Array.from({ length: 10 }, (_, n) => n * 7))).toEqual([[0, 64, 10]]);
});

test("nothing is certain about a bar on a day that is no trading day, or about no bar", () => {
  expect(windowsOf(1, 5)).toBeUndefined();
  expect(windowsOf()).toBeUndefined();
});
