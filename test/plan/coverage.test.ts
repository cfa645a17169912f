import { expect, test } from "vitest";
import { parseTradingDate, type TimeRange } from "../../src/core/time.js";
import { TradingCalendar } from "../../src/market/trading-calendar.js";
import { measureCoverage } from "../../src/plan/coverage.js";

const NOW = Date.parse("2024-01-20T00:00:00Z");
/** Local midnight in Shanghai. */
const midnight = (date: string): number => Date.parse(`${date}T00:00:00+08:00`);
const between = (first: string, end: string): TimeRange => ({ start: midnight(first), end: midnight(end) });
const RANGE = between("2024-01-01", "2024-01-13");

/** Two weeks whose first Monday is a holiday: nine trading days. */
const CALENDAR = new TradingCalendar(
  "CN",
  ["2023-12-29"]
    .concat(["02", "03", "04", "05", "08", "09", "10", "11", "12"].map((day) => `2024-01-${day}`))
    .map(parseTradingDate),
);

function coverage(covered: Record<string, TimeRange[]>, listed: Record<string, string> = {}) {
  return measureCoverage({
    calendar: CALENDAR,
    symbols: Object.keys(covered),
    range: RANGE,
    covered: new Map(Object.entries(covered)),
    listedAt: new Map(Object.entries(listed).map(([symbol, date]) => [symbol, midnight(date)])),
    now: NOW,
  });
}

test("what was requested throughout has no gap, with any holidays in it", () => {
  expect(coverage({ a: [between("2024-01-02", "2024-01-06"), between("2024-01-08", "2024-01-13")] })).toEqual(
    {
      symbols: 1,
      first: "2024-01-02",
      last: "2024-01-12",
      expected: 9,
      answered: 9,
      gaps: [],
    },
  );
});

test("gaps are at the start, in the middle or at the end; those that are alike are one; the largest comes first", () => {
  const holed = [between("2024-01-01", "2024-01-04"), between("2024-01-09", "2024-01-13")];
  const { expected, answered, gaps } = coverage({
    late: [between("2024-01-03", "2024-01-13")],
    first: holed,
    second: holed,
    ended: [between("2024-01-01", "2024-01-12")],
  });
  expect({ expected, answered }).toEqual({ expected: 36, answered: 36 - 6 - 1 - 1 });
  expect(gaps.map(({ first, last, days, symbols, place }) => [first, last, days, symbols, place])).toEqual([
    ["2024-01-04", "2024-01-08", 3, 2, "middle"],
    ["2024-01-02", "2024-01-02", 1, 1, "start"],
    ["2024-01-12", "2024-01-12", 1, 1, "end"],
  ]);
  expect(gaps[0]?.examples).toEqual(["first", "second"]);
});

test("a symbol is not missed before it was listed", () => {
  const { expected, answered } = coverage(
    { young: [between("2024-01-10", "2024-01-13")] },
    { young: "2024-01-10" },
  );
  expect({ expected, answered }).toEqual({ expected: 3, answered: 3 });
});

test("nothing asked for is nothing expected", () => {
  expect(coverage({})).toMatchObject({ symbols: 0, expected: 0, answered: 0, gaps: [] });
});
