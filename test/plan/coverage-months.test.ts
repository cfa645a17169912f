import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { DAY_MS, type TimeRange, type TradingDate } from "../../src/core/time.js";
import { TradingCalendar } from "../../src/market/trading-calendar.js";
import { coverageByMonth, type MonthFacts, measureCoverage, missingIn } from "../../src/plan/coverage.js";

const START = Date.parse("2026-01-01T00:00:00Z");
const DAYS = 100;
const NOW = START + 200 * DAY_MS;

/** Ranges of days after the start. */
const ranges = fc.array(
  fc.tuple(fc.nat(DAYS), fc.nat(20)).map(([first, length]): TimeRange => {
    return { start: START + first * DAY_MS, end: START + (first + length) * DAY_MS };
  }),
  { maxLength: 5 },
);
const facts = fc
  .array(fc.record({ covered: ranges, open: ranges, listed: fc.option(fc.nat(DAYS)) }), { maxLength: 6 })
  .map((symbols): MonthFacts => {
    const named = symbols.map((one, at) => [`00000${at}.SZ`, one] as const);
    return {
      calendar: new TradingCalendar("CN", ["2026-01-05", "2026-01-06"] as TradingDate[]),
      symbols: named.map(([name]) => name),
      range: { start: START, end: START + DAYS * DAY_MS },
      covered: new Map(named.map(([name, { covered }]) => [name, covered])),
      listedAt: new Map(
        named.flatMap(([name, { listed }]) => (listed === null ? [] : [[name, START + listed * DAY_MS]])),
      ),
      open: new Map(named.map(([name, { open }]) => [name, open])),
      now: NOW,
    };
  });

describe("the coverage of months", () => {
  test("adds up to the coverage of the whole range, and its parts to what is expected", () => {
    fc.assert(
      fc.property(facts, (given) => {
        const whole = measureCoverage(given);
        const months = coverageByMonth(given);
        const sum = (of: (month: (typeof months)[number]) => number): number =>
          months.reduce((all, month) => all + of(month), 0);
        expect(sum(({ expected }) => expected)).toBe(whole.expected);
        expect(sum(({ answered }) => answered)).toBe(whole.answered);
        for (const { expected, answered, open, gap } of months) {
          expect(answered + open + gap).toBe(expected);
          expect(Math.min(answered, open, gap)).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });

  test("is what the symbols of each month lack", () => {
    fc.assert(
      fc.property(facts, (given) => {
        for (const { month, open, gap } of coverageByMonth(given)) {
          const missing = missingIn(given, month);
          expect(missing.reduce((all, { days }) => all + days, 0)).toBe(open + gap);
          if (missing.every(({ isOpen }) => isOpen)) expect(gap).toBe(0);
          for (const { first, last } of missing) {
            expect(first.slice(0, 7)).toBe(month);
            expect(last.slice(0, 7)).toBe(month);
          }
        }
      }),
    );
  });
});

test("a month names the sessions, the first and last missing day, and what was never requested", () => {
  const at = (date: string): number => Date.parse(`${date}T00:00:00+08:00`);
  const given: MonthFacts = {
    calendar: new TradingCalendar("CN"),
    symbols: ["000001.SZ", "000002.SZ"],
    range: { start: at("2026-02-02"), end: at("2026-03-02") },
    covered: new Map([
      ["000001.SZ", [{ start: at("2026-02-02"), end: at("2026-03-02") }]],
      ["000002.SZ", [{ start: at("2026-02-02"), end: at("2026-02-23") }]],
    ]),
    listedAt: new Map(),
    open: new Map([["000002.SZ", [{ start: at("2026-02-23"), end: at("2026-02-25") }]]]),
    now: NOW,
  };
  expect(coverageByMonth(given)).toEqual([
    { month: "2026-02", sessions: 20, expected: 40, answered: 35, open: 2, gap: 3 },
  ]);
  expect(missingIn(given, "2026-02")).toEqual([
    { symbol: "000002.SZ", first: "2026-02-23", last: "2026-02-27", days: 5, isOpen: false },
  ]);
});
