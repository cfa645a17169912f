import fc from "fast-check";
import { expect, test } from "vitest";
import { SESSION_HOURS, sessionDates } from "../../src/calendar/sessions.js";
import type { Region } from "../../src/core/exchange.js";
import { DAY_MS, subtractRanges, type TimeRange, unionRanges } from "../../src/core/time.js";
import { expectedBars, inBatches, planRequestUnits, SUSPECT_ROWS } from "../../src/plan/request-units.js";

const NOW = Date.parse("2026-11-21T00:00:00Z");
const START = Date.parse("2025-11-20T16:00:00Z");
const END = Date.parse("2026-11-21T16:00:00Z");

const symbols = (n: number): string[] => Array.from({ length: n }, (_, i) => `${600_000 + i}.SH`);

function plan(
  list: readonly string[],
  period: "1d" | "1m",
  covered = new Map<string, TimeRange[]>(),
  range = { start: START, end: END },
) {
  return planRequestUnits({
    period,
    symbols: new Map<Region, readonly string[]>([["CN", list]]),
    range,
    covered,
    now: NOW,
  });
}

test("a year of all A-share minutes takes no more requests than the row cap makes needful", () => {
  const units = plan(symbols(5500), "1m");
  const weekdays = sessionDates("CN", { start: START, end: END }, NOW).length;
  const windows = Math.ceil(weekdays / Math.floor((SUSPECT_ROWS - 1) / SESSION_HOURS.CN.barsPerDay));
  expect(units).toHaveLength(windows * 55);
  expect(Math.max(...units.map((unit) => unit.symbols.length))).toBe(100);
});

test("all daily history fits one window", () => {
  const units = plan(symbols(250), "1d", new Map(), { start: Date.parse("2008-01-01T00:00:00Z"), end: END });
  expect(units.map((unit) => unit.symbols.length)).toEqual([100, 100, 50]);
});

test("a weekend, a day whose session has not begun, and what is covered need no request", () => {
  const saturday = { start: Date.parse("2026-11-20T16:00:00Z"), end: END };
  expect(plan(symbols(3), "1m", new Map(), saturday)).toEqual([]);
  expect(
    plan(symbols(3), "1m", new Map(symbols(3).map((symbol) => [symbol, [{ start: START, end: END }]]))),
  ).toEqual([]);
});

test("whatever is covered, the units ask for the rest of every symbol, once, in windows below the cap", () => {
  const range = fc
    .tuple(fc.integer({ min: -5, max: 370 }), fc.integer({ min: 1, max: 120 }))
    .map(([day, days]): TimeRange => ({ start: START + day * DAY_MS, end: START + (day + days) * DAY_MS }));
  const demand = fc.dictionary(fc.constantFrom(...symbols(30)), fc.array(range, { maxLength: 4 }), {
    maxKeys: 30,
  });
  fc.assert(
    fc.property(demand, fc.constantFrom("1d" as const, "1m" as const), (coverage, period) => {
      const covered = new Map(Object.entries(coverage));
      const list = symbols(30);
      const units = plan(list, period, covered);
      for (const unit of units) {
        expect(unit.symbols.length).toBeLessThanOrEqual(100);
        expect(expectedBars(unit, period) / unit.symbols.length).toBeLessThan(SUSPECT_ROWS);
      }
      for (const symbol of list) {
        const asked = units.filter((unit) => unit.symbols.includes(symbol)).map((unit) => unit.window);
        const total = asked.reduce((sum, window) => sum + window.end - window.start, 0);
        expect(unionRanges(asked).reduce((sum, window) => sum + window.end - window.start, 0)).toBe(total);
        const gaps = subtractRanges({ start: START, end: END }, covered.get(symbol) ?? []);
        for (const gap of gaps) {
          const left = subtractRanges(gap, asked);
          expect(left.flatMap((rest) => sessionDates("CN", rest, NOW))).toEqual([]);
        }
        for (const window of asked) expect(subtractRanges(window, gaps)).toEqual([]);
      }
      expect(units.map((unit) => unit.window.start)).toEqual(
        units.map((unit) => unit.window.start).sort((a, b) => a - b),
      );
    }),
    { numRuns: 60 },
  );
});

test("batches keep the order and the size", () => {
  expect(inBatches([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  expect(inBatches([], 2)).toEqual([]);
});
