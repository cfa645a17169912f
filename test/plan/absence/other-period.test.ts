import { expect, test } from "vitest";
import { DAY_MS, MINUTE_MS } from "../../../src/core/time.js";
import { type RequestedPeriod, symbolsOfOtherPeriod } from "../../../src/plan/absence/judge-response.js";

/** Midnight in Shanghai of a Monday, and in New York of the Friday before the clocks change. */
const MONDAY = Date.parse("2024-01-08T00:00:00+08:00");
const FRIDAY = Date.parse("2024-03-08T00:00:00-05:00");
const DAILY = { region: "CN", period: "1d", isAggregated: false } as const;
const MINUTE = { ...DAILY, period: "1m" } as const;

/** The symbols of another period, of a response with a list of times for each symbol, and the words that were read. */
function found(times: Readonly<Record<string, readonly number[]>>, requested: RequestedPeriod) {
  const all = Object.values(times).flat();
  const words = new Uint32Array(BigInt64Array.from(all, BigInt).buffer);
  const read = new Set<string | symbol>();
  const counted = new Proxy(words, {
    get: (target, key) => {
      read.add(key);
      return Reflect.get(target, key) as unknown;
    },
  });
  let start = 0;
  const spans = Object.entries(times).map(([symbol, own]) => {
    start += own.length;
    return { symbol, start: start - own.length, end: start };
  });
  return { symbols: [...symbolsOfOtherPeriod(spans, counted, requested)], bars: read.size / 2 };
}

/** Times at one distance. */
function every(distance: number, length: number, first = MONDAY + 9.5 * 60 * MINUTE_MS): number[] {
  return Array.from({ length }, (_, n) => first + n * distance);
}

test("two bars show minutes, and three show days: no more are read", () => {
  expect(found({ a: every(MINUTE_MS, 240) }, MINUTE)).toEqual({ symbols: [], bars: 2 });
  const days = every(DAY_MS, 500, MONDAY);
  expect(found({ a: days }, DAILY)).toEqual({ symbols: [], bars: 2 });
  expect(found({ a: [MONDAY - 3 * DAY_MS, ...days] }, DAILY)).toEqual({ symbols: [], bars: 3 });
});

test("an hour more or less between bars is a change of clocks", () => {
  const hour = 60 * MINUTE_MS;
  const after = FRIDAY + 7 * DAY_MS - hour;
  const weeks = [...every(7 * DAY_MS, 5, FRIDAY - 28 * DAY_MS), ...every(7 * DAY_MS, 6, after)];
  expect(found({ a: weeks }, { ...DAILY, region: "US" }).symbols).toEqual(["a"]);
  expect(found({ a: [...weeks, (weeks.at(-1) as number) + DAY_MS + hour] }, DAILY).symbols).toEqual([]);
});

test("ten pairs show another period, nine do not", () => {
  for (const [requested, distance, first] of [
    [MINUTE, 5 * MINUTE_MS, undefined],
    [DAILY, 7 * DAY_MS, MONDAY],
  ] as const) {
    expect(found({ a: every(distance, 10, first) }, requested).symbols).toEqual([]);
    expect(found({ a: every(distance, 11, first) }, requested).symbols).toEqual(["a"]);
  }
});

test("few bars of many symbols show months, which no holiday separates, and not weeks", () => {
  const market = (length: number, distance: number, symbols: number) =>
    Object.fromEntries(
      Array.from({ length: symbols }, (_, n) => [`s${n}`, every(distance * DAY_MS, length, MONDAY)]),
    );
  expect(found(market(2, 31, 10), DAILY).symbols).toHaveLength(10);
  expect(found(market(3, 91, 5), DAILY).symbols).toHaveLength(5);
  expect(found(market(2, 31, 9), DAILY).symbols).toEqual([]);
  expect(found(market(2, 20, 30), DAILY).symbols).toEqual([]);
  expect(found({ ...market(2, 31, 10), day: every(DAY_MS, 3, MONDAY) }, DAILY).symbols).toEqual([]);
});

/** Days since the Monday, from the distances between them. */
function apart(...gaps: readonly number[]): number[] {
  let day = 0;
  return [0, ...gaps.map((gap) => (day += gap))].map((n) => MONDAY + n * DAY_MS);
}

test("the days of a symbol that trades seldom are at no regular distance", () => {
  expect(found({ a: apart(4, 9, 20, 5, 13, 7, 28, 6, 11, 4, 17, 9) }, DAILY).symbols).toEqual([]);
  expect(found({ a: apart(7, 9, 20, 7, 7, 7, 28, 7, 11, 7, 17, 7) }, DAILY).symbols).toEqual([]);
});

test("weeks with a holiday, months, quarters and years are regular", () => {
  expect(found({ a: apart(7, 7, 14, 7, 8, 6, 7, 7, 7, 7, 7) }, DAILY).symbols).toEqual(["a"]);
  const firstDays = (months: number): number[] =>
    Array.from({ length: 12 }, (_, n) => Date.UTC(2010, n * months, 1) - 8 * 60 * MINUTE_MS);
  for (const months of [1, 3, 12]) expect(found({ a: firstDays(months) }, DAILY).symbols).toEqual(["a"]);
});

test("pairs of several symbols count together for minutes, unless one of them has minutes; for days they do not", () => {
  const few = { a: every(15 * MINUTE_MS, 7), b: every(15 * MINUTE_MS, 7), c: [MONDAY + MINUTE_MS] };
  expect(found(few, MINUTE).symbols).toEqual(["a", "b", "c"]);
  expect(found({ ...few, c: every(MINUTE_MS, 2) }, MINUTE).symbols).toEqual([]);
  const holiday = Object.fromEntries(every(1, 30).map((n) => [`${n}`, every(11 * DAY_MS, 2, MONDAY)]));
  expect(found(holiday, DAILY).symbols).toEqual([]);
});

test("a symbol with few bars is found with others of another period, unless one has the requested one", () => {
  const weeks = { a: every(7 * DAY_MS, 30, MONDAY), b: every(7 * DAY_MS, 2, MONDAY) };
  expect(found(weeks, DAILY).symbols).toEqual(["a", "b"]);
  expect(found({ ...weeks, c: every(DAY_MS, 2, MONDAY) }, DAILY).symbols).toEqual(["a"]);
});

test("a longer period is found only where it was not requested", () => {
  const isAggregated = true;
  expect(found({ a: every(5 * MINUTE_MS, 40) }, { ...MINUTE, isAggregated }).symbols).toEqual([]);
  expect(found({ a: every(7 * DAY_MS, 40, MONDAY) }, { ...DAILY, isAggregated }).symbols).toEqual([]);
  expect(found({ a: every(7 * DAY_MS, 40, MONDAY) }, { ...MINUTE, isAggregated }).symbols).toEqual(["a"]);
  expect(found({ a: every(5 * MINUTE_MS, 40) }, { ...DAILY, isAggregated }).symbols).toEqual(["a"]);
});
