import { expect, test } from "vitest";
import { DAY_MS, MINUTE_MS } from "../../../src/core/time.js";
import { SESSION_HOURS } from "../../../src/market/sessions.js";
import { type RequestedPeriod, symbolsOfOtherPeriod } from "../../../src/plan/absence/judge-response.js";
import { minutes, weekdays } from "../../jobs/minute-market.js";

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

const dateOf = (ms: number): string => new Date(ms + 8 * 60 * MINUTE_MS).toISOString().slice(0, 10);
/** Sessions of years, in some of which Monday is the only one of its week. */
const SESSIONS = weekdays("2019-01-01", "2024-12-14").filter((ms) => !/-10-0[1-7]$/.test(dateOf(ms)));
const openOf = (day: number): number => day + 9.5 * 60 * MINUTE_MS;
/** Ends of the hours of sessions. */
const hours = (days: readonly number[]): number[] =>
  days.flatMap((day) =>
    SESSION_HOURS.CN.parts.flatMap(([open, close]) =>
      Array.from({ length: (close - open) / 60 }, (_, n) => day + (open + (n + 1) * 60) * MINUTE_MS),
    ),
  );
/** The last sessions of weeks or months. */
const lastOf = (unitOf: (day: number) => string | number): number[] =>
  SESSIONS.filter((day, n) => unitOf(day) !== unitOf(SESSIONS[n + 1] ?? 0));

test.each([
  ["hours", MINUTE, hours(SESSIONS.slice(-10))],
  ["hours of one day", MINUTE, hours(SESSIONS.slice(-1))],
  ["days as minutes", MINUTE, SESSIONS.slice(-10)],
  // Week 0 begins on Thursday, 1970-01-01.
  ["weeks", DAILY, lastOf((day) => Math.floor((day / DAY_MS + 8 / 24 + 3) / 7))],
  ["months", DAILY, lastOf((day) => dateOf(day).slice(0, 7))],
  ["minutes as days", DAILY, minutes(SESSIONS.slice(-30)).slice(-3601)],
] as const)("bars of sessions, of six symbols, are of another period: %s", (_, requested, times) => {
  const symbols = ["a", "b", "c", "d", "e", "f"];
  expect(found(Object.fromEntries(symbols.map((symbol) => [symbol, times])), requested).symbols).toEqual(
    symbols,
  );
});

/** Times of which each is one of some distances after the last, in turn. */
function inTurn(start: number, distances: readonly number[], length: number): number[] {
  let at = start;
  return Array.from({ length }, (_, n) => (at += distances[n % distances.length] as number));
}

const OPEN = openOf(SESSIONS.at(-7) as number);
test.each([
  ["1, 3 and 7 minutes", MINUTE, inTurn(OPEN, [MINUTE_MS, 3 * MINUTE_MS, 7 * MINUTE_MS], 20)],
  [
    "5 minutes, but for one that has 1",
    MINUTE,
    [...inTurn(OPEN, [5 * MINUTE_MS], 20), OPEN + 101 * MINUTE_MS],
  ],
  [
    "a session, with the auctions of each alone",
    MINUTE,
    SESSIONS.slice(-10).flatMap((day) => [openOf(day), day + 15 * 60 * MINUTE_MS]),
  ],
  ["weeks, but for one gap of three days", DAILY, apart(7, 7, 14, 3, 11, 7, 7, 14, 28, 7, 7)],
  ["weeks, but for one gap of a day", DAILY, apart(...Array<number>(40).fill(7), 1)],
] as const)("a symbol whose bars are apart by %s seldom trades", (_, requested, times) => {
  expect(found({ a: times }, requested).symbols).toEqual([]);
});
