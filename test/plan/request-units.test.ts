import fc from "fast-check";
import { expect, test } from "vitest";
import {
  DAY_MS,
  dateOfEpochDay,
  epochDay,
  parseTradingDate,
  subtractRanges,
  type TimeRange,
  unionRanges,
} from "../../src/core/time.js";
import { isWeekday, SESSION_HOURS } from "../../src/market/sessions.js";
import { dayAt, TradingCalendar } from "../../src/market/trading-calendar.js";
import { daysPerWindow, expectedBars, inBatches, planRequestUnits } from "../../src/plan/request-units.js";
import { cases } from "../sweep.js";

const NOW = Date.parse("2026-11-21T00:00:00Z");
const START = Date.parse("2025-11-20T16:00:00Z");
const END = Date.parse("2026-11-21T16:00:00Z");
const WEEKDAYS = new TradingCalendar("CN");

const symbols = (n: number): string[] => Array.from({ length: n }, (_, i) => `${600_000 + i}.SH`);

interface Asked {
  readonly period?: "1d" | "1m";
  readonly covered?: Map<string, TimeRange[]>;
  readonly empty?: Map<string, TimeRange[]>;
  readonly range?: TimeRange;
  readonly rowCap?: number;
  readonly calendar?: TradingCalendar;
  readonly listedAt?: Map<string, number>;
  readonly symbolsPerRequest?: number;
}

function plan(list: readonly string[], asked: Asked = {}) {
  return planRequestUnits({
    period: "1m",
    calendar: WEEKDAYS,
    symbols: list,
    range: { start: START, end: END },
    covered: new Map(),
    now: NOW,
    rowCap: 5000,
    ...asked,
  });
}

/** A calendar of weekdays without some, known throughout. */
function calendarWithout(first: string, last: string, holidays: ReadonlySet<string>): TradingCalendar {
  const dates = [];
  for (let day = epochDay(parseTradingDate(first)); day <= epochDay(parseTradingDate(last)); day++) {
    const date = dateOfEpochDay(day);
    if (isWeekday(date) && !holidays.has(date)) dates.push(date);
  }
  return new TradingCalendar("CN", dates);
}

test("a year of the minutes of 5,500 symbols takes the arithmetic minimum: windows of 20 trading days, 55 requests each", () => {
  const holidays = new Set(
    ["2026-01-01", "2026-01-02", ...week("2026-02-16"), "2026-02-23", "2026-04-06", "2026-05-01"].concat([
      "2026-05-04",
      "2026-05-05",
      "2026-06-19",
      "2026-09-25",
      ...week("2026-10-01"),
      "2026-10-07",
    ]),
  );
  const calendar = calendarWithout("2025-10-01", "2026-11-20", holidays);
  const range = { start: Date.parse("2025-10-31T16:00:00Z"), end: Date.parse("2026-10-31T16:00:00Z") };
  const trading = calendar.daysIn(range, NOW).length;
  expect(trading).toBe(242);
  const units = plan(symbols(5500), { calendar, range });
  expect(units).toHaveLength(Math.ceil(trading / 20) * 55);
  expect(units).toHaveLength(715);
  expect(plan(symbols(5500), { calendar, range, rowCap: 10_000 })).toHaveLength(Math.ceil(trading / 41) * 55);
  expect(new Set(units.map((unit) => unit.symbols.length))).toEqual(new Set([100]));
});

function week(first: string): string[] {
  const start = epochDay(parseTradingDate(first));
  return Array.from({ length: 5 }, (_, i) => dateOfEpochDay(start + i) as string);
}

test("two sessions of minutes of 5,500 symbols take as many requests as one, also at a cap of 500 bars", () => {
  const end = Date.parse("2026-11-20T16:00:00Z");
  for (const rowCap of [500, 5000, 10_000])
    for (const days of [1, 2])
      expect(plan(symbols(5500), { range: { start: end - days * DAY_MS, end }, rowCap })).toHaveLength(55);
});

test("the daily history of 5,500 symbols takes 55 requests", () => {
  const range = { start: Date.parse("1990-01-01T00:00:00Z"), end: END };
  expect(plan(symbols(5500), { period: "1d", range, rowCap: 10_000 })).toHaveLength(55);
});

test("a weekend, a day whose session has not begun, a holiday, and what is covered need no request", () => {
  const saturday = { start: Date.parse("2026-11-20T16:00:00Z"), end: END };
  expect(plan(symbols(3), { range: saturday })).toEqual([]);
  const covered = new Map(symbols(3).map((symbol) => [symbol, [{ start: START, end: END }]]));
  expect(plan(symbols(3), { covered })).toEqual([]);
  const calendar = calendarWithout("2026-10-01", "2026-11-20", new Set(["2026-11-19"]));
  const holiday = { start: Date.parse("2026-11-18T16:00:00Z"), end: Date.parse("2026-11-19T16:00:00Z") };
  expect(plan(symbols(3), { range: holiday })).toHaveLength(1);
  expect(plan(symbols(3), { range: holiday, calendar })).toEqual([]);
});

test("a symbol is not asked for before it was listed", () => {
  const listed = Date.parse("2026-09-30T16:00:00Z");
  const units = plan(symbols(2), { listedAt: new Map([["600001.SH", listed]]) });
  const of = (symbol: string): RequestUnitLike[] => units.filter((unit) => unit.symbols.includes(symbol));
  expect(Math.min(...of("600000.SH").map(({ window }) => window.start))).toBe(START);
  expect(of("600001.SH").length).toBeLessThan(of("600000.SH").length / 3);
});
type RequestUnitLike = ReturnType<typeof plan>[number];

test("symbols that were listed in the course of the window take no separate requests where they fit into others", () => {
  const listedAt = new Map(symbols(157).map((symbol, i) => [symbol, i < 130 ? 0 : START + i * DAY_MS]));
  expect(plan(symbols(157), { listedAt })).toHaveLength(2 * Math.ceil(DAYS.length / 20));
});

test("daily bars are requested since before the listing date, which can be wrong, if that date was not requested yet", () => {
  const range = { start: START, end: END };
  const listed = START + 100 * DAY_MS;
  const listedAt = new Map(symbols(4).map((symbol) => [symbol, listed]));
  const [first, since, left, known] = symbols(4) as [string, string, string, string];
  const covered = new Map([
    [since, [{ start: listed + 30 * DAY_MS, end: END }]],
    [left, [{ start: END - 30 * DAY_MS, end: Number.MAX_SAFE_INTEGER }]],
    [known, [{ start: listed, end: END - 30 * DAY_MS }]],
  ]);
  const units = planRequestUnits({
    period: "1d",
    calendar: WEEKDAYS,
    symbols: symbols(4),
    range,
    covered,
    listedAt,
    now: NOW,
    rowCap: 10_000,
  });
  const startOf = (symbol: string) => units.find((unit) => unit.symbols.includes(symbol))?.window.start;
  expect([first, since, left].map(startOf)).toEqual([START, START, START]);
  expect(startOf(known)).toBeGreaterThan(END - 35 * DAY_MS);
});

test("a new symbol does not make others be sent all their days again", () => {
  const list = symbols(500);
  const lately = END - 4 * DAY_MS;
  const covered = new Map(list.slice(2).map((symbol) => [symbol, [{ start: START, end: lately }]]));
  const listedAt = new Map(list.slice(0, 2).map((symbol) => [symbol, lately]));
  const units = plan(list, { covered, listedAt, rowCap: 10_000_000 });
  expect(units.map((unit) => unit.symbols.length).sort((a, b) => a - b)).toEqual([2, 98, 100, 100, 100, 100]);
  expect(units.filter(({ days }) => days > 4)).toHaveLength(1);
});

test("gaps of different symbols that fit one window share requests", () => {
  const list = symbols(100);
  const covered = new Map(
    list.map((symbol, i) => [symbol, [{ start: START, end: END - (10 + (i % 9)) * DAY_MS }]]),
  );
  expect(plan(list, { covered })).toHaveLength(1);
});

test("with any coverage: every day that a symbol lacks is requested, and none twice", () => {
  const range = fc
    .tuple(fc.integer({ min: -5, max: 370 }), fc.integer({ min: 1, max: 120 }))
    .map(([day, days]): TimeRange => ({ start: START + day * DAY_MS, end: START + (day + days) * DAY_MS }));
  const demand = fc.dictionary(fc.constantFrom(...symbols(30)), fc.array(range, { maxLength: 4 }), {
    maxKeys: 30,
  });
  const size = fc.integer({ min: 1, max: 12 });
  fc.assert(
    fc.property(demand, size, fc.constantFrom(5000, 1200, 10_000), (coverage, symbolsPerRequest, rowCap) => {
      const covered = new Map(Object.entries(coverage));
      const list = symbols(30);
      const units = plan(list, { covered, symbolsPerRequest, rowCap });
      const limit = daysPerWindow({ calendar: WEEKDAYS, period: "1m", rowCap });
      for (const unit of units) {
        expect(unit.symbols.length).toBeLessThanOrEqual(symbolsPerRequest);
        expect(expectedBars(unit, "1m") / unit.symbols.length).toBeLessThan(rowCap);
      }
      let alone = 0;
      for (const symbol of list) {
        const gaps = subtractRanges({ start: START, end: END }, covered.get(symbol) ?? []);
        const asked = units.filter((unit) => unit.symbols.includes(symbol)).map((unit) => unit.window);
        const rest = gaps.flatMap((gap) => subtractRanges(gap, asked));
        expect(rest.flatMap((gap) => daysOf(gap))).toEqual([]);
        const needed = windowsOfGaps(gaps, limit);
        expect(asked.length).toBeGreaterThanOrEqual(needed);
        const starts = asked.flatMap((window) => daysOf(window).map(({ start }) => start));
        expect(new Set(starts).size).toBe(starts.length);
        alone += needed;
      }
      expect(units.length).toBeLessThanOrEqual(alone);
      const firstDays = units.map(({ window }) => daysOf(window)[0]?.start ?? 0);
      expect(firstDays).toEqual(firstDays.toSorted((a, b) => a - b));
    }),
    { numRuns: cases({ few: 15, all: 600 }) },
  );
});

test("empty windows that a cap would divide are requested again as they were, by all symbols that have the same", () => {
  const [many, other] = [symbols(150), "688981.SH"];
  const window = { start: START, end: START + 200 * DAY_MS };
  const shorter = { start: START, end: START + 100 * DAY_MS };
  const rest = subtractRanges({ start: START, end: END }, [window]);
  const covered = new Map([...many, other].map((symbol) => [symbol, rest]));
  const empty = new Map(many.map((symbol) => [symbol, [window]]));
  empty.set(other, [shorter]);
  const units = plan([...many, other], { covered, empty, rowCap: 400 });
  const repeated = units.filter((unit) => unit.days > 1);
  expect(repeated.map((unit) => [unit.symbols.length, unit.window])).toEqual([
    [100, window],
    [50, window],
    [1, shorter],
  ]);
  // What was not empty is divided.
  const fresh = units.filter((unit) => unit.days === 1);
  expect(new Set(fresh.flatMap((unit) => unit.symbols))).toEqual(new Set([other]));
  expect(fresh).toHaveLength(daysOf({ start: shorter.end, end: window.end }).length);
});

test("with any coverage and any empty windows: every day that a symbol lacks is requested, and none twice that may have bars", () => {
  const range = fc
    .tuple(fc.integer({ min: -5, max: 370 }), fc.integer({ min: 1, max: 120 }))
    .map(([day, days]): TimeRange => ({ start: START + day * DAY_MS, end: START + (day + days) * DAY_MS }));
  const windows = fc.dictionary(fc.constantFrom(...symbols(12)), fc.array(range, { maxLength: 3 }));
  fc.assert(
    fc.property(windows, windows, fc.constantFrom(400, 1200, 5000), (coverage, holes, rowCap) => {
      const covered = new Map(Object.entries(coverage));
      const empty = new Map(Object.entries(holes).map(([symbol, own]) => [symbol, unionRanges(own)]));
      const units = plan(symbols(12), { covered, empty, rowCap });
      for (const symbol of symbols(12)) {
        const gaps = subtractRanges({ start: START, end: END }, covered.get(symbol) ?? []);
        const asked = units.filter((unit) => unit.symbols.includes(symbol)).map((unit) => unit.window);
        const starts = asked.flatMap((window) => daysOf(window).map(({ start }) => start));
        expect(gaps.flatMap((gap) => daysOf(gap)).filter(({ start }) => !starts.includes(start))).toEqual([]);
        const within = (empty.get(symbol) ?? []).flatMap((window) =>
          daysOf(window).map(({ start }) => start),
        );
        const others = starts.filter((start) => !within.includes(start));
        expect(new Set(others).size).toBe(others.length);
      }
    }),
    { numRuns: cases({ few: 15, all: 600 }) },
  );
});

const COLUMNS = WEEKDAYS.daysIn({ start: START, end: END }, NOW);
const DAYS = Array.from({ length: COLUMNS.length }, (_, index) => dayAt(COLUMNS, index));

function daysOf(range: TimeRange): TimeRange[] {
  return DAYS.filter((day) => range.start < day.end && range.end > day.start);
}

/** The fewest windows of so many trading days that hold all gaps: each begins where the first day is that is left. */
function windowsOfGaps(gaps: readonly TimeRange[], length: number): number {
  let left = DAYS.filter((day) => gaps.some((gap) => gap.start < day.end && gap.end > day.start));
  let windows = 0;
  while (left[0] !== undefined) {
    const last = DAYS[DAYS.indexOf(left[0]) + length - 1]?.end ?? Number.POSITIVE_INFINITY;
    left = left.filter((day) => day.end > last);
    windows += 1;
  }
  return windows;
}

test("no plan takes more requests than asking for each group of equal gaps by itself", () => {
  const anyGaps = fc.array(fc.tuple(fc.integer({ min: 0, max: 360 }), fc.integer({ min: 1, max: 60 })), {
    minLength: 1,
    maxLength: 2,
  });
  const groups = fc.array(fc.tuple(anyGaps, fc.integer({ min: 1, max: 25 })), { minLength: 1, maxLength: 5 });
  fc.assert(
    fc.property(groups, (some) => {
      const covered = new Map<string, TimeRange[]>();
      let apart = 0;
      for (const [gaps, members] of some) {
        const holes = gaps.map(([day, days]) => ({
          start: START + day * DAY_MS,
          end: START + (day + days) * DAY_MS,
        }));
        const rest = subtractRanges({ start: START, end: END }, holes);
        const expected = subtractRanges({ start: START, end: END }, rest);
        const own = Array.from({ length: members }, (_, i) => `${600_000 + covered.size + i}.SH`);
        for (const symbol of own) covered.set(symbol, rest);
        apart += windowsOfGaps(expected, 20) * Math.ceil(members / 10);
      }
      const units = plan([...covered.keys()], { covered, symbolsPerRequest: 10 });
      expect(units.length).toBeLessThanOrEqual(apart);
    }),
    { numRuns: cases({ few: 50, all: 2000 }) },
  );
});

test("batches have the order and the size", () => {
  expect(inBatches([1, 2, 3, 4, 5], 2)).toEqual([[1, 2], [3, 4], [5]]);
  expect(inBatches([], 2)).toEqual([]);
  expect(SESSION_HOURS.CN.barsPerDay).toBe(241);
});
