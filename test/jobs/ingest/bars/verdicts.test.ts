import { expect, test } from "vitest";
import { groupBy } from "../../../../src/core/group-by.js";
import { DAY_MS, subtractRanges, type TimeRange } from "../../../../src/core/time.js";
import { DemandAbsences, explainAbsences } from "../../../../src/jobs/ingest/bars/explain-absences.js";
import {
  expectationOf,
  KlineRequester,
  ServiceTraits,
} from "../../../../src/jobs/ingest/bars/kline-requester.js";
import { RequestSizeLimits } from "../../../../src/jobs/run/request/request-size-limits.js";
import { CALENDAR_SYMBOLS } from "../../../../src/lake/land/trading-days.js";
import { REGION_NAMES, REGIONS, type Region } from "../../../../src/market/regions.js";
import { rangeOfDay } from "../../../../src/market/sessions.js";
import { regionOf } from "../../../../src/market/symbol.js";
import { TradingCalendar } from "../../../../src/market/trading-calendar.js";
import { localDate, localDay } from "../../../../src/market/zone.js";
import type { Page } from "../../../../src/plan/absence/older-bars.js";
import { decodeKlines } from "../../../../src/wire/decode/decode-klines.js";
import { barsAt, minutes, weekdays } from "../../minute-market.js";

/** The responses of a service, and what a lake knows: which reasons follow, after how many requests. No service, no lake. */

type Times = readonly number[];
/** The times of the bars of each symbol. */
type Bars = Readonly<Record<string, Times>>;

interface Case {
  readonly period?: "1d" | "1m";
  readonly symbols: readonly string[];
  /** @default the last day */
  readonly windows?: readonly TimeRange[];
  /** The bars that the service has of each symbol. @param n number of earlier requests. @default none */
  readonly gives?: (page: Page, n: number) => Bars;
  /** The bars that the lake has before. @default those of the symbols up to the day before the last */
  readonly lake?: Bars;
  /** The sessions that the calendar knows. @default the days before the last one */
  readonly sessions?: Times;
  readonly perRequest?: number;
  readonly listed?: Readonly<Record<string, number>>;
  readonly ended?: readonly string[];
  /** Windows in which the symbols were absent from responses with others. */
  readonly absentBefore?: readonly TimeRange[];
  /** Windows that responses have settled. */
  readonly answered?: Readonly<Record<string, readonly TimeRange[]>>;
  readonly daysOfNone?: number;
  /** Whether an earlier run requested the windows, and nothing came. */
  readonly wasEmpty?: boolean;
  /** Start of the last window of which minutes came. */
  readonly lastMinutes?: number;
}

const DAYS = weekdays("2024-01-01", "2024-02-03");
const LAST = DAYS.at(-1) as number;
const PAST = DAYS.slice(0, -1);
const NOW = Date.parse("2024-02-03T00:00:00Z");
const dayOf = (start: number): TimeRange => ({ start, end: start + DAY_MS });
const from = (day: number): TimeRange => ({ start: DAYS[day] as number, end: LAST + DAY_MS });
const named = (length: number, first = 600_000): string[] =>
  Array.from({ length }, (_, n) => `${first + n}.SH`);
const of = (symbols: readonly string[], times: Times): Bars =>
  Object.fromEntries(symbols.map((symbol) => [symbol, times]));
const [NINE, TWELVE, FORTY, HUNDRED] = [named(9), named(12), named(40), named(100)];
const [A, INDEX, OTHERS] = ["600000.SH", "000001.SH", named(12, 601_000)];
const ONE = "600519.SH";
/** A service with the bars of all requested symbols, but of some of them. */
const without =
  (lacks: readonly string[], times: Times = DAYS) =>
  ({ symbols }: Page): Bars =>
    of(
      symbols.filter((symbol) => !lacks.includes(symbol)),
      times,
    );

/** A symbol traded up to a time if it has bars on each of the five weekdays before it. */
function tradedBefore(lake: Bars, symbol: string, time: number): boolean {
  const before = DAYS.filter((day) => day < time).slice(-5);
  return (
    before.length === 5 && before.every((day) => lake[symbol]?.some((at) => at >= day && at < day + DAY_MS))
  );
}

/** The reasons with their symbols, and the symbols of each request. */
async function judged(one: Case) {
  const { period = "1d", windows = [dayOf(LAST)], symbols, answered: settled = {}, listed = {} } = one;
  const lake: Record<string, number[]> = Object.fromEntries(
    Object.entries(one.lake ?? of(symbols, PAST)).map(([symbol, times]) => [symbol, [...times]]),
  );
  const dates = (one.sessions ?? PAST).map((at) => localDate(at, REGIONS.CN.zone));
  const calendars = new Map(
    REGION_NAMES.map((region) => [region, new TradingCalendar(region, region === "CN" ? dates : [])]),
  );
  const answered = new Map(Object.entries(settled).map(([symbol, own]) => [symbol, [...own]]));
  const listedAt = new Map(Object.entries(listed));
  const limits = new RequestSizeLimits({ symbolsPerRequest: { klines: one.perRequest ?? 100 } });
  const traits = new ServiceTraits(period, limits.rowCap(period), limits);
  const wasEmpty = (): boolean => one.wasEmpty === true;
  const absent = new DemandAbsences(period, wasEmpty);
  const [requested, reasons] = [[] as (readonly string[])[], new Map<string, Set<string>>()];
  const note = (reason: string, own: readonly string[]): void => {
    reasons.set(reason, new Set([...(reasons.get(reason) ?? []), ...own]));
  };
  const send = async (page: Page): Promise<boolean> => {
    const { window } = page;
    const data: Record<string, ReturnType<typeof barsAt>> = {};
    for (const [symbol, times] of Object.entries(one.gives?.(page, requested.length) ?? {})) {
      const own = times.filter((at) => at >= window.start && at < window.end);
      if (own.length > 0) data[symbol] = barsAt(own);
    }
    requested.push(page.symbols);
    const response = await decodeKlines([Buffer.from(JSON.stringify({ data }))], expectationOf(page));
    const traded = new Set(page.symbols.filter((symbol) => tradedBefore(lake, symbol, window.start)));
    const facts = { covered: answered, calendar: calendars.get(page.region), listedAt, traded, now: NOW };
    const verdict = traits.judge(page, response, { ...facts, source: String(requested.length) });
    for (const part of verdict.settled)
      for (const symbol of part.symbols) answered.set(symbol, [...(answered.get(symbol) ?? []), part.window]);
    requester.take(page, verdict);
    if (verdict.present.length > 0) absent.minutes.came(page.region);
    note("others_came", verdict.absence.confirmed);
    for (const { symbol } of verdict.lost) note("set_aside", [symbol]);
    for (const { symbol, reason } of verdict.quiet) note(`${reason} between bars`, [symbol]);
    for (const symbol of verdict.present)
      if (!verdict.mislabelled.has(symbol))
        lake[symbol] = [...(lake[symbol] ?? []), ...(data[symbol]?.timestamp ?? [])];
    return false;
  };
  const requester = new KlineRequester(traits, absent, {
    send,
    sendEach: async (pages, each) => {
      for (const page of pages) await each(page);
    },
    isHalted: () => false,
    settle: (open) => [...open],
  });
  const size = traits.symbolsPerRequest;
  let units = windows.flatMap((window) =>
    [...groupBy(symbols, (symbol) => regionOf(symbol) as Region)].flatMap(([region, own]) =>
      own.flatMap((_, n) => (n % size === 0 ? [{ region, window, symbols: own.slice(n, n + size) }] : [])),
    ),
  );
  while (units.length > 0) {
    const sent = traits.begin(units);
    for (const unit of sent) await requester.request(unit);
    await requester.complete();
    units = units.slice(sent.length);
  }

  const first = (own: readonly string[]): number => Math.min(...own.flatMap((symbol) => lake[symbol] ?? []));
  const inLake = Object.keys(lake);
  const tradedOn = groupBy(
    inLake.flatMap((symbol) => {
      const region = regionOf(symbol) as Region;
      return [...new Set(lake[symbol]?.map((at) => localDay(at, REGIONS[region].zone)))].map((day) => ({
        symbol,
        region,
        day,
      }));
    }),
    ({ region, day }) => `${region} ${day}`,
  );
  const explained = explainAbsences(
    absent.symbols.takeUnseen(),
    {
      period,
      calendars,
      listedAt,
      answered,
      wasEmpty,
      now: NOW,
      isOneOfFew: (...own) => absent.isOneOfFew(...own),
    },
    {
      firstBars: new Map(inLake.map((symbol) => [symbol, first([symbol])])),
      firstOfRegion: new Map(
        [...groupBy(inLake, (symbol) => regionOf(symbol) as Region)].map(([region, own]) => [
          region,
          first(own),
        ]),
      ),
      ended: new Set(one.ended),
      absentBefore: new Map(symbols.map((symbol) => [symbol, one.absentBefore ?? []])),
      traded: [...tradedOn.values()].map((own) => {
        const { region, day } = own[0] as { region: Region; day: number };
        const hasIndex = own.some(({ symbol }) => CALENDAR_SYMBOLS[region].includes(symbol));
        return { region, range: rangeOfDay(region, day), symbols: own.length, hasIndex };
      }),
      daysOfNone: new Map(symbols.map((symbol) => [symbol, one.daysOfNone ?? 0])),
      lastMinutes: new Map(one.lastMinutes === undefined ? [] : [["CN", one.lastMinutes]]),
    },
  );
  for (const group of explained) note(group.reason, group.symbols);
  const open = explained.filter(({ reason }) => reason === "unexplained").map(({ window }) => window);
  return {
    reasons: Object.fromEntries([...reasons].filter(([, own]) => own.size > 0)),
    requested,
    open,
    lake,
  };
}

/** The minutes of each quarter of an hour of the last day. */
const QUARTERS = minutes([LAST]).filter((_, n) => n % 15 === 14);

/** A demand of many symbols for the days from one on, after the last known session. @param split where its second window begins. */
function since(day: number, split: number, traded: readonly string[]): Case {
  const [first, second] = [from(day), from(split)];
  const windows = split === day ? [first] : [{ ...first, end: second.start }, second];
  const symbols = traded.length === 1 ? traded : TWELVE;
  return { symbols, windows, sessions: DAYS.slice(0, day), lake: of(traded, DAYS.slice(0, day)) };
}

/** The number of symbols of each reason, and of requests. */
async function verdictOf(one: Case): Promise<string> {
  const { reasons, requested } = await judged(one);
  const counts = Object.entries(reasons).map(([reason, own]) => `${reason} ${own.size}`);
  return `${counts.sort().join("; ")}; ${requested.length}`;
}

const SH = of(TWELVE, PAST);
/** Windows before a bar of the symbol, in three weeks of others. */
const EARLY = {
  symbols: [ONE],
  windows: [dayOf(DAYS[3] as number)],
  lake: { [ONE]: [LAST], ...of([INDEX], PAST) },
};
const NEVER = { symbols: TWELVE, lake: of(OTHERS, DAYS) };

test.each<[what: string, expected: string, one: Case]>([
  ["of symbols that never had a bar", "unexplained 2; 2", { symbols: [ONE, "000001.SZ"], lake: {} }],
  ["of many, on a day that may be a holiday", "no_session 12; 2", { symbols: TWELVE }],
  ["of the index, on such a day", "no_session 1; 2", { symbols: [INDEX] }],
  ["of many, on eight such days", "no_session 12; 2", since(17, 17, TWELVE)],
  ["of many, on nine, which no holiday has", "unexplained 12; 2", since(16, 16, TWELVE)],
  ["of many, on nine in two windows", "unexplained 12; 4", since(16, 20, TWELVE)],
  ["of many, few of which have bars before", "suspended 9; unexplained 3; 2", since(16, 16, NINE)],
  ["of many, on a known session", "unexplained 12; 2", { symbols: TWELVE, sessions: DAYS }],
  [
    "of many, when others traded",
    "unexplained 12; 2",
    { symbols: TWELVE, lake: { ...SH, ...of(OTHERS, DAYS) } },
  ],
  [
    "of many, and one has a stray bar",
    "no_session 40; 2",
    { symbols: FORTY, lake: { ...of(FORTY, PAST), [ONE]: DAYS } },
  ],
  ["of the index, on a session", "unexplained 1; 2", { symbols: [INDEX], sessions: DAYS }],
  ["of few that have bars before, on a session", "suspended 9; 2", { symbols: NINE, sessions: DAYS }],
  ["of few that have bars before, on any day", "suspended 9; 2", { symbols: NINE }],
  [
    "around a bar of the symbol",
    "unexplained 1; 2",
    { ...EARLY, windows: [from(2)], lake: of([ONE], DAYS.slice(5, 6)) },
  ],
  ["before the first bar", "not_yet 1; 2", EARLY],
  ["before the listing", "not_yet 1; 2", { ...EARLY, listed: { [ONE]: LAST } }],
  ["after the listing", "unavailable 1; 2", { ...EARLY, listed: { [ONE]: 0 } }],
  [
    "before any of the region",
    "not_yet 1; 2",
    { ...EARLY, lake: of([INDEX, ONE], [LAST]), listed: { [ONE]: 0 } },
  ],
  ["of what is not listed any more", "ended 1; 2", { symbols: [ONE], ended: [ONE] }],
  [
    "where a response with others lacked it",
    "others_came 1; 2",
    { symbols: [ONE], absentBefore: [dayOf(LAST)] },
  ],
  [
    "before the first bar, where one lacked it",
    "others_came 1; 2",
    { ...EARLY, absentBefore: EARLY.windows },
  ],
  [
    "where one lacked it in a part",
    "others_came 1; suspended 1; 2",
    { ...since(18, 18, [ONE]), absentBefore: [from(20)] },
  ],
  ["on four days, and others traded", "unavailable 12; 2", { ...NEVER, daysOfNone: 3 }],
  ["on three days, and others traded", "unexplained 12; 2", { ...NEVER, daysOfNone: 2 }],
  [
    "on four days, and no others traded",
    "unexplained 1; 2",
    { symbols: [ONE], lake: of(OTHERS, PAST), daysOfNone: 3 },
  ],
  [
    "on four days, and all have bars before",
    "unexplained 12; 2",
    { symbols: TWELVE, lake: { ...SH, ...of(OTHERS, DAYS) }, daysOfNone: 3 },
  ],
])("nothing %s: %s requests", async (_, expected, one) => expect(await verdictOf(one)).toBe(expected));

const THREE = [2, 3, 22].map((day) => dayOf(DAYS[day] as number));
const MINUTES = { symbols: [ONE], windows: EARLY.windows, lake: of([INDEX], DAYS), lastMinutes: LAST };
const STOPPED = { symbols: TWELVE, lake: of(TWELVE, minutes(DAYS.slice(0, 8))) };

test.each<[what: string, expected: string, one: Case]>([
  [
    "of a region that has none",
    "unavailable 2; 4",
    { symbols: ["AAPL.US", "MSFT.US"], windows: THREE, lake: {} },
  ],
  ["of China, where all have some", "unexplained 1; 6", { symbols: [ONE], windows: THREE, lake: {} }],
  ["twice, before later ones came", "unavailable 1; 1", { ...MINUTES, wasEmpty: true }],
  ["once, before later ones came", "unexplained 1; 2", MINUTES],
  [
    "twice, after the last ones came",
    "unexplained 1; 1",
    { ...MINUTES, windows: [dayOf(LAST)], wasEmpty: true },
  ],
  ["of many, on a session", "unexplained 12; 2", { ...STOPPED, sessions: DAYS }],
  [
    "of many, before later ones came",
    "suspended 12; 2",
    { ...STOPPED, windows: [from(8)], sessions: DAYS, lastMinutes: LAST + 1 },
  ],
])("no minutes %s: %s requests", async (_, expected, one) =>
  expect(await verdictOf({ ...one, period: "1m" })).toBe(expected),
);

/** A service that lacks symbols in the first response, and others in later ones. */
const first =
  (lacks: readonly string[], later: readonly string[], times = DAYS) =>
  (page: Page, n: number): Bars =>
    without(n === 0 ? lacks : later, times)(page);
const PAIR = { symbols: [INDEX, ONE], lake: {} };
/** Of two responses the first lacks six symbols, and the second fifteen; later ones lack so many of all these. */
const sixAndMany =
  (twice: number) =>
  (page: Page, n: number): Bars =>
    without(
      n < 2
        ? page.symbols.slice(0, n === 0 ? 6 : 15)
        : [...FORTY.slice(0, 6), ...FORTY.slice(20, 14 + twice)],
    )(page);
const FEW_OF_EACH = [...FORTY.slice(0, 6), ...FORTY.slice(20, 26)];

test.each<[what: string, expected: string, one: Case]>([
  ["one that never had a bar", "others_came 1; 1", { ...PAIR, gives: without([ONE]) }],
  [
    "one that has not traded for days",
    "others_came 1; 1",
    { symbols: TWELVE, lake: { ...SH, [A]: PAST.slice(0, -3) }, gives: without([A]) },
  ],
  ["one that traded up to the day before", "suspended 1; 2", { symbols: TWELVE, gives: without([A]) }],
  ["all, at first", "; 2", { symbols: TWELVE, gives: first(TWELVE, []) }],
  ["many that traded, at first", "; 2", { symbols: HUNDRED, gives: first(FORTY, []) }],
  ["many that traded, twice", "unexplained 40; 2", { symbols: HUNDRED, gives: without(FORTY) }],
  [
    "many that traded, and the second one few",
    "suspended 1; 2",
    { symbols: HUNDRED, gives: first(FORTY, [A]) },
  ],
  [
    "few that traded, in two responses",
    "suspended 12; 3",
    { symbols: FORTY, perRequest: 20, gives: without(FEW_OF_EACH) },
  ],
  [
    "few in one response, and many in another",
    "suspended 6; unexplained 15; 4",
    { symbols: FORTY, perRequest: 20, gives: sixAndMany(21) },
  ],
  [
    "few in one, and few in the second of many",
    "suspended 12; 4",
    { symbols: FORTY, perRequest: 20, gives: sixAndMany(12) },
  ],
  // The second requests are about many, so that few in each of their responses are not few.
  [
    "many in each, and few in each second one",
    "unexplained 24; 9",
    {
      symbols: HUNDRED,
      perRequest: 20,
      gives: (page, n) => without(page.symbols.slice(0, n < 5 ? 15 : 6))(page),
    },
  ],
  [
    "one in a window, and many in another",
    "suspended 1; unexplained 12; 4",
    {
      symbols: [INDEX, ...TWELVE],
      windows: [dayOf(LAST), dayOf(DAYS[10] as number)],
      gives: (page) => without(page.window.start === LAST ? [A] : TWELVE)(page),
    },
  ],
  [
    "many, each requested alone, and the index comes",
    "unexplained 12; 14",
    { symbols: [INDEX, ...TWELVE], perRequest: 1, gives: without(TWELVE) },
  ],
  ["one, with another in its place", "unexplained 1; 2", { ...PAIR, gives: () => of([INDEX, A], DAYS) }],
  ["one, with a key in its place", "unexplained 1; 2", { ...PAIR, gives: () => of([INDEX, "600519"], DAYS) }],
  [
    "days between bars of one",
    "no_bar between bars 1; 1",
    { ...PAIR, windows: [from(0)], gives: () => ({ [INDEX]: DAYS, [ONE]: DAYS.toSpliced(4, 5) }) },
  ],
  [
    "a day between bars of many",
    "no_session between bars 12; 1",
    { symbols: TWELVE, windows: [from(0)], sessions: [], gives: without([], DAYS.toSpliced(7, 1)) },
  ],
  [
    "weeks before bars of many",
    "not_yet between bars 12; 2",
    { symbols: TWELVE, windows: [{ ...from(0), start: 0 }], sessions: [], gives: without([]) },
  ],
  [
    "minutes, and has quarters of hours",
    "set_aside 12; 2",
    { period: "1m", symbols: TWELVE, gives: without([], QUARTERS) },
  ],
  [
    "minutes, and has quarters of hours at first",
    "; 2",
    {
      period: "1m",
      symbols: TWELVE,
      gives: (page, n) => without([], n === 0 ? QUARTERS : minutes([LAST]))(page),
    },
  ],
])("a response lacks %s: %s requests", async (_, expected, one) =>
  expect(await verdictOf(one)).toBe(expected),
);

test("what is requested again is what was lacking, and of an empty response a sample", async () => {
  expect((await judged({ symbols: HUNDRED, gives: without(FORTY) })).requested[1]).toEqual(FORTY);
  const { requested } = await judged({ symbols: HUNDRED, perRequest: 50 });
  expect(requested.map(({ length }) => length)).toEqual([50, 50, 50]);
});

test("of an unexplained window only the time remains open that no response has settled", async () => {
  const [window, settled] = [from(0), { start: DAYS[7] as number, end: DAYS[15] as number }];
  const one = { symbols: [ONE], windows: [window], lake: {} };
  const rest = subtractRanges(window, [settled]);
  expect((await judged({ ...one, answered: { [ONE]: [settled] } })).open).toEqual(rest);
  expect((await judged({ ...one, absentBefore: [settled] })).open).toEqual(rest);
});
