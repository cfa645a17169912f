import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Session } from "../../src/db/session/session.js";
import type { Lake } from "../../src/lake/lake.js";
import { landAbsentDays } from "../../src/lake/land/absent-days.js";
import { stageObjects } from "../../src/lake/land/clear-values.js";
import { landActions } from "../../src/lake/land/land-versions.js";
import { landTradingDays } from "../../src/lake/land/trading-days.js";
import { openReader } from "../../src/lake/open-reader.js";
import { ADJUSTMENTS, PERIODS } from "../../src/market/period.js";
import { regionOf } from "../../src/market/symbol.js";
import { localDate } from "../../src/market/zone.js";
import { CORPORATE_ACTIONS, EX_FACTORS } from "../../src/schema/actions.js";
import { BARS_1D, BARS_1M } from "../../src/schema/bars.js";
import {
  type LandedBar,
  landRows,
  newLake,
  NOW as SERVED_AT,
  type Served,
  serve,
} from "../serve/served-lake.js";
import { cases, pickCases, pickFrom, SWEEP } from "../sweep.js";
import { type Compared, expectAgreement, type Sources } from "./agreement.js";
import { fillSimulated } from "./simulated-lake.js";

/** Every period with every adjustment. */
const KINDS = PERIODS.flatMap((period) =>
  ADJUSTMENTS.map((adjustment) => ({ period, adjustment, name: `${period} ${adjustment}` })),
);

/** Each period once, with each adjustment at least twice; five commits that follow one another take all of them. */
function eachPeriod(): typeof KINDS {
  const [first = 0] = pickCases(ADJUSTMENTS.length, 1);
  return PERIODS.map((_, n) => KINDS[n * ADJUSTMENTS.length + ((n + first) % ADJUSTMENTS.length)]).flatMap(
    (kind) => kind ?? [],
  );
}

describe("service, view and dataset give the same bars of a simulated market", () => {
  const { lake, remove } = newLake();
  let served: Served;
  let reader: Session;
  let symbols: string[];

  beforeAll(async () => {
    await fillSimulated(lake.location, { symbols: 24, days: 400, end: "2026-03-31", minuteDays: 8 });
    served = await serve(lake);
    reader = (await openReader(lake)).session;
    const all = await reader.json<{ symbol: string }>(
      "SELECT symbol FROM bar_spans ORDER BY bars DESC, symbol",
    );
    symbols = pickFrom(all, cases({ few: 12, more: 12, all: 24 })).map(({ symbol }) => symbol);
  });
  afterAll(async () => {
    reader.close();
    await served.service.close();
    remove();
  });

  const pinned = ["1d backward", "60m forward", "1w forward_additive"];
  const few = pickFrom(
    KINDS.filter(({ name }) => pinned.includes(name)),
    2,
  );
  const picked = { few, more: eachPeriod(), all: KINDS }[SWEEP];
  test.each(picked)("$period $adjustment", async ({ period, adjustment }) => {
    const { view, dataset } = await expectAgreement({ served, reader }, symbols, period, adjustment);
    expect(view).toBeGreaterThan(symbols.length);
    expect(dataset).toBeGreaterThan(symbols.length);
  });
});

const DAY = 86_400_000;
const MAX_INT64 = 2n ** 63n - 1n;

/** Prices of few values, so that an additive adjustment makes some of them 0 or less. */
const anyPrice = fc.integer({ min: 1, max: 6 });
/** Small volumes are rounded to a region's unit; with large ones shares, or a sum, do not fit into 64 bits. */
const anyVolume = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 200 }).map(BigInt) },
  fc.constantFrom(
    2n ** 32n - 1n,
    2n ** 32n,
    2n ** 53n + 1n,
    MAX_INT64 / 100n,
    MAX_INT64 / 100n + 1n,
    MAX_INT64,
  ),
);

const anyDay = fc.record({
  /** none: no bar; hole: no bar, nor for a month; zeros, empty: no trades, with prices of 0, or with a close of 0 as well. */
  kind: fc.oneof(
    {
      weight: 15,
      arbitrary: fc.constantFrom("traded", "traded", "traded", "traded", "none", "zeros", "empty"),
    },
    { weight: 1, arbitrary: fc.constant("hole" as const) },
  ),
  prev: fc.constantFrom("none", "same", "same", "noise", "zero", "ex", "ex"),
  exPrice: anyPrice,
  prices: fc.tuple(anyPrice, anyPrice, anyPrice, anyPrice),
  volume: anyVolume,
  amount: fc.integer({ min: 0, max: 1_000_000 }),
  /** Minutes after midnight that have a bar too. */
  minutes: fc.uniqueArray(
    fc.constantFrom(
      560,
      570,
      571,
      599,
      600,
      630,
      631,
      690,
      691,
      720,
      721,
      780,
      781,
      900,
      901,
      960,
      961,
      1439,
    ),
    { maxLength: 4 },
  ),
});
type Day = typeof anyDay extends fc.Arbitrary<infer T> ? T : never;

/** Daily bars of the weekdays that follow 2023-11-20, a Monday, and minutes of some of them. */
function landedBars(
  symbol: string,
  lot: number,
  days: readonly Day[],
): { daily: LandedBar[]; minute: LandedBar[] } {
  const offset = symbol.endsWith(".US") ? -5 : 8;
  let first = Date.parse("2023-11-20T00:00:00Z") - offset * 3_600_000;
  const [daily, minute]: LandedBar[][] = [[], []];
  let last = 3;
  for (const [n, { kind, prev, exPrice, prices, volume, amount, minutes }] of days.entries()) {
    if (kind === "hole") first += 28 * DAY;
    if (n % 7 > 4 || kind === "none" || kind === "hole") continue;
    const stated = { none: null, same: last, noise: last * (1 + 1e-12), zero: 0, ex: exPrice }[prev];
    const timestamp = first + n * DAY;
    const [open, other, settlement, close] = prices;
    const bar =
      kind === "traded"
        ? { open, high: Math.max(...prices), low: Math.min(...prices), close, volume, amount }
        : { open: 0, high: 0, low: 0, close: kind === "zeros" ? last : 0, volume: 0n, amount: 0 };
    const more = { symbol, lot, prev_close: stated, open_interest: other, settlement_price: settlement };
    daily?.push({ ...bar, ...more, timestamp });
    for (const at of minutes) minute?.push({ ...bar, ...more, timestamp: timestamp + at * 60_000 });
    if (bar.close > 0) last = bar.close;
  }
  return { daily: daily as LandedBar[], minute: minute as LandedBar[] };
}

/** Sessions on all weekdays but some, for a longer time than any symbol has bars. */
const INDEX_DAYS: readonly Day[] = Array.from({ length: 300 }, (_, n) => ({
  kind: n % 31 === 8 ? "none" : "traded",
  prev: "none",
  exPrice: 1,
  prices: [1, 1, 1, 1],
  volume: 1n,
  amount: 1,
  minutes: [],
}));
const FIRST_DAY = Date.parse("2023-11-20") / DAY;

/** Lands the trading days, and what responses said about days without bars: days since the first one. */
async function landKnown(
  lake: Lake,
  absent: readonly { readonly symbol: string; readonly first: number; readonly count: number }[],
  now = SERVED_AT,
): Promise<void> {
  using session = await Session.open({ threads: 1 });
  const options = { operation: "TEST", runId: "known", now };
  await landTradingDays(session, lake, options);
  const days = absent.map(({ symbol, first, count }) => ({
    symbol,
    first: FIRST_DAY + first,
    end: FIRST_DAY + first + count,
    hasNone: true,
  }));
  await landAbsentDays(session, lake, days, options);
}

/** What a source says of a day, in days since the first one: weekends too. */
const anyTold = fc.record({
  day: fc.nat(180),
  source: fc.constantFrom("a", "b"),
  kind: fc.constantFrom("factor", "cash_dividend", "split", "consolidation", "stock_dividend", "rights"),
  value: fc.constantFrom(0.1, 0.5, 2, 3),
});

/** Lands factors and corporate actions; of several ones of a key the last. */
async function landTold(
  lake: Lake,
  told: readonly (typeof anyTold extends fc.Arbitrary<infer T> ? T & { readonly symbol: string } : never)[],
): Promise<void> {
  using session = await Session.open({ threads: 1 });
  const rowOf = (one: (typeof told)[number]) => ({
    symbol: one.symbol,
    ex_date: new Date((FIRST_DAY + one.day) * DAY).toISOString().slice(0, 10),
    source: one.source,
    region: regionOf(one.symbol),
  });
  const rows = new Map(
    told.map((one) => {
      const isFactor = one.kind === "factor";
      const key = [one.symbol, one.day, one.source, one.kind].join();
      const value = isFactor
        ? { factor: one.value }
        : one.kind === "cash_dividend"
          ? { kind: one.kind, cash: one.value }
          : { kind: one.kind, ratio: one.value, price: one.kind === "rights" ? 1 : null };
      return [key, { table: isFactor ? EX_FACTORS : CORPORATE_ACTIONS, row: { ...rowOf(one), ...value } }];
    }),
  );
  for (const table of [EX_FACTORS, CORPORATE_ACTIONS]) {
    const own = [...rows.values()].filter((one) => one.table === table).map(({ row }) => row);
    const columns = table.columns.filter(({ name }) => name !== "first_seen_at");
    const staged = `staged_${table.name}`;
    await stageObjects(session, staged, columns, own);
    await landActions(session, lake, table, staged, { operation: "TEST", runId: "told", now: SERVED_AT });
  }
}

test("service, view and dataset give the same bars where prices and volumes are extreme", async () => {
  const seen: Compared[] = [];
  const kinds = cases({ few: 2, more: 3, all: 3 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.record({
          exchange: fc.constantFrom("SH", "HK", "US"),
          lot: fc.constantFrom(1, 100),
          days: fc.array(anyDay, { minLength: 20, maxLength: 120 }),
          /** Weekdays, since the first one, of which a response said that there is no bar. */
          absent: fc.array(fc.tuple(fc.nat(180), fc.constantFrom(1, 1, 3, 60))),
          told: fc.array(anyTold, { maxLength: 30 }),
        }),
        { minLength: 3, maxLength: 5 },
      ),
      fc.shuffledSubarray(KINDS, { minLength: kinds, maxLength: kinds }),
      async (instruments, asked) => {
        const { lake, remove } = newLake();
        const index = ["000001.SH", "HSI.HK", "SPY.US"].map(
          (symbol) => landedBars(symbol, 1, INDEX_DAYS).daily,
        );
        const market = instruments.map(({ exchange, lot, days }, n) => {
          const symbol = `${600_000 + n}.${exchange}`;
          return { symbol, ...landedBars(symbol, lot, days) };
        });
        const [daily, minute] = [market.flatMap((one) => one.daily), market.flatMap((one) => one.minute)];
        await landRows(lake, BARS_1D, [...daily, ...index.flat()]);
        await landRows(lake, BARS_1M, minute);
        const absent = market.flatMap(({ symbol }, n) =>
          (instruments[n]?.absent ?? []).map(([first, count]) => ({ symbol, first, count })),
        );
        await landKnown(lake, absent);
        await landTold(
          lake,
          market.flatMap(({ symbol }, n) => (instruments[n]?.told ?? []).map((one) => ({ symbol, ...one }))),
        );
        const served = await serve(lake);
        const { session: reader } = await openReader(lake);
        try {
          const symbols = market.map(({ symbol }) => symbol);
          for (const { period, adjustment } of asked)
            seen.push(await expectAgreement({ served, reader }, symbols, period, adjustment));
        } finally {
          reader.close();
          await served.service.close();
          remove();
        }
      },
    ),
    { numRuns: cases({ few: 1, more: 2, all: 80 }), endOnFailure: true },
  );
  const sum = (of: keyof Compared): number => seen.reduce((total, one) => total + one[of], 0);
  expect(Math.min(sum("view"), sum("dataset"))).toBeGreaterThan(0);
});

test("a close before a hole makes no ex-event, one before a suspension does", async () => {
  const { lake, remove } = newLake();
  onTestFinished(remove);
  const at = (date: string): number => Date.parse(`${date}T00:00:00+08:00`);
  const bar = (symbol: string, date: string, close: number, prev_close: number | null = null): LandedBar => {
    const prices = { open: close, high: close, low: close, close };
    return { symbol, timestamp: at(date), ...prices, volume: 1, amount: 1, prev_close };
  };
  const weekdays = (first: string, count: number): string[] =>
    Array.from({ length: count }, (_, n) =>
      new Date(Date.parse(first) + n * DAY).toISOString().slice(0, 10),
    ).filter((date) => ![0, 6].includes(new Date(date).getUTCDay()));
  // The calendar knows the first three months of 2024, and July.
  const index = [...weekdays("2024-01-01", 91), ...weekdays("2024-07-01", 31)];
  await landRows(lake, BARS_1D, [
    ...index.map((date) => bar("000001.SH", date, 3000)),
    // Suspended from January to March.
    bar("600000.SH", "2024-01-10", 10),
    bar("600000.SH", "2024-03-20", 5, 5),
    // Without data from March to July.
    bar("600001.SH", "2024-03-28", 10),
    bar("600001.SH", "2024-07-02", 4, 4),
    bar("600001.SH", "2024-07-03", 2, 2),
    // Nobody asked for the days in between: four months, and one day.
    bar("600003.SH", "2024-01-10", 10),
    bar("600003.SH", "2024-03-20", 5, 5),
    bar("600003.SH", "2024-03-21", 5, 5),
    bar("600003.SH", "2024-03-25", 4, 4),
    bar("600004.SH", "2024-01-10", 10),
    bar("600004.SH", "2024-03-20", 5, 5),
    // Three weeks and a day into what is unknown, and a day less.
    bar("600002.SH", "2024-05-01", 8),
    bar("600002.SH", "2024-05-22", 4, 4),
    bar("600002.SH", "2024-06-11", 2, 2),
    // In a region without a calendar.
    bar("00700.HK", "2024-01-10", 8),
    bar("00700.HK", "2024-01-30", 4, 4),
    bar("00700.HK", "2024-02-20", 2, 2),
  ]);
  const since = (date: string): number => Date.parse(date) / DAY - FIRST_DAY;
  await landKnown(
    lake,
    [
      { symbol: "600000.SH", first: since("2024-01-11"), count: 69 },
      // All but one session.
      { symbol: "600004.SH", first: since("2024-01-11"), count: 20 },
      { symbol: "600004.SH", first: since("2024-02-01"), count: 48 },
    ],
    at("2024-09-01"),
  );
  const served = await serve(lake);
  const { session: reader } = await openReader(lake, { threads: 1 });
  onTestFinished(async () => {
    reader.close();
    await served.service.close();
  });
  const symbols = ["600000.SH", "600001.SH", "600002.SH", "600003.SH", "600004.SH", "00700.HK"];
  const expected = [
    { symbol: "600000.SH", day: "2024-03-20", factor: 2 },
    { symbol: "600001.SH", day: "2024-07-03", factor: 2 },
    { symbol: "600002.SH", day: "2024-06-11", factor: 2 },
    { symbol: "00700.HK", day: "2024-01-30", factor: 2 },
  ];
  const path = `/v1/klines/ex-factors?symbols=${symbols.join()}`;
  const { body } = await served.ask<{ data: Record<string, { timestamp: number; ex_factor: number }[]> }>(
    path,
  );
  const shown = symbols.flatMap((symbol) =>
    (body.data[symbol] ?? []).map(({ timestamp, ex_factor: factor }) => {
      return { symbol, day: localDate(timestamp, "Asia/Shanghai"), factor };
    }),
  );
  expect(shown).toEqual(expected);
  const inView = await reader.json(
    `SELECT symbol, ex_date::VARCHAR AS day, factor FROM ex_events ORDER BY list_position(['${symbols.join("', '")}'], symbol), day`,
  );
  expect(inView).toEqual(expected);
  const compared = pickFrom(ADJUSTMENTS, { few: 1, more: 2, all: 5 });
  for (const adjustment of compared) await expectAgreement({ served, reader }, symbols, "1d", adjustment);

  // The calendar of the time in between lands, and a response without bars of these days: they were suspended.
  const { headers } = await served.ask(path);
  await landRows(
    lake,
    BARS_1D,
    weekdays("2024-04-01", 91).map((date) => bar("000001.SH", date, 3000)),
  );
  await landKnown(
    lake,
    [
      { symbol: "600001.SH", first: since("2024-03-29"), count: 95 },
      { symbol: "600002.SH", first: since("2024-05-02"), count: 20 },
      { symbol: "600002.SH", first: since("2024-05-23"), count: 19 },
    ],
    at("2024-09-01"),
  );
  const again = await served.ask<typeof body>(path, {
    headers: { "if-none-match": headers.get("etag") as string },
  });
  expect(again.status).toBe(200);
  expect(Object.values(again.body.data).map((factors) => factors.length)).toEqual([1, 2, 2, 1]);
});

/** Bars of a week from Monday, 2024-03-04, on. */
async function withWeek<T>(
  bars: readonly Partial<LandedBar>[],
  use: (sources: Sources) => Promise<T>,
): Promise<T> {
  const { lake, remove } = newLake();
  const monday = Date.parse("2024-03-03T16:00:00Z");
  const flat = { symbol: SYMBOL, open: 5, high: 5, low: 5, close: 5, volume: 1, amount: 1 };
  await landRows(
    lake,
    BARS_1D,
    bars.map((bar, n) => ({ ...flat, ...bar, timestamp: monday + n * DAY })),
  );
  const served = await serve(lake);
  const { session: reader } = await openReader(lake, { threads: 1 });
  try {
    return await use({ reader, served });
  } finally {
    reader.close();
    await served.service.close();
    remove();
  }
}

const SYMBOL = "600519.SH";

test("a price that an additive adjustment makes 0 is a price, and one that was landed as 0 is none", async () => {
  const days = [
    { open: 5, high: 12, low: 4, close: 10 },
    { open: 5, high: 7, low: 5, close: 6, prev_close: 5 },
    { open: 0, high: 0, low: 0, close: 6, volume: 0, prev_close: 6 },
    { open: 6, high: 6, low: 6, close: 6 },
    { open: 6, high: 6, low: 6, close: 6 },
  ];
  await withWeek(days, async (sources) => {
    const additive = ADJUSTMENTS.indexOf("forward_additive");
    const compared = pickFrom(ADJUSTMENTS, { few: 1, more: 2, all: 5 }, [additive]);
    for (const period of ["1d", "1w"] as const)
      for (const adjustment of compared) await expectAgreement(sources, [SYMBOL], period, adjustment);
    const prices = (call: string): Promise<unknown[]> =>
      sources.reader.json(`SELECT open, high, low, close FROM ${call} ORDER BY trade_date`);
    expect(await prices("adjusted('1w', 'forward_additive')")).toEqual([
      { open: 0, high: 7, low: -1, close: 6 },
    ]);
    expect((await prices("adjusted('1d', 'forward_additive')"))[2]).toEqual({
      open: 0,
      high: 0,
      low: 0,
      close: 6,
    });
    expect(await prices("adjusted('1w', 'none')")).toEqual([{ open: 5, high: 12, low: 4, close: 6 }]);
  });
});

test("a volume, or shares, beyond 64 bits are the largest int64, and fail no query", async () => {
  const days = [{ volume: MAX_INT64 }, { volume: MAX_INT64, lot: 1 }, { volume: 2n ** 32n }, {}, {}];
  await withWeek(days, async (sources) => {
    const kinds = (["1w", "1d", "1Y"] as const).flatMap((period) =>
      (["none", "backward"] as const).map((adjustment) => ({ period, adjustment })),
    );
    for (const { period, adjustment } of pickFrom(kinds, { few: 2, more: 4, all: 6 }, [0]))
      await expectAgreement(sources, [SYMBOL], period, adjustment);
    const rows = await sources.reader.json(
      "SELECT volume, lot, shares FROM bars_1d ORDER BY trade_date LIMIT 3",
    );
    expect(rows).toEqual([
      { volume: MAX_INT64, lot: 100, shares: MAX_INT64 },
      { volume: MAX_INT64, lot: 1, shares: MAX_INT64 },
      { volume: 2n ** 32n, lot: 100, shares: 100n * 2n ** 32n },
    ]);
    expect(await sources.reader.json("SELECT volume, shares FROM bars('1w')")).toEqual([
      { volume: MAX_INT64, shares: MAX_INT64 },
    ]);
    for (const view of ["daily_status", "quality_units"]) await sources.reader.json(`FROM ${view}`);
  });
});
