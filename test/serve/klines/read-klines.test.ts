import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ADJUSTMENTS, type Adjustment, PERIODS, type Period } from "../../../src/market/period.js";
import { BARS_1D, BARS_1M } from "../../../src/schema/bars.js";
import { cases } from "../../sweep.js";
import { type Klines, type Question, referenceKlines } from "../reference-klines.js";
import { type LandedBar, landRows, serveForFile } from "../served-lake.js";

const DAY = 86_400_000;
/** Offsets of the zones from UTC over the days of these tests, which no change of clocks touches. */
const OFFSET_HOURS: Readonly<Record<string, number>> = { SH: 8, HK: 8, US: -5 };

const served = serveForFile(async () => {});

const cents = (min: number, max: number) => fc.integer({ min, max }).map((n) => n / 100);

interface Day {
  /** absent: no bar at all; zeros: suspended, reported with prices of 0; flat: suspended, reported with the close. */
  readonly kind: "traded" | "absent" | "zeros" | "flat";
  /** What the exchange states as the previous close. */
  readonly prev: "none" | "same" | "noise" | "zero" | "ex";
  readonly exPrice: number;
  readonly prices: readonly [number, number, number, number];
  readonly volume: number;
  readonly amount: number;
}

const anyDay: fc.Arbitrary<Day> = fc.record({
  kind: fc.constantFrom("traded", "traded", "traded", "traded", "absent", "zeros", "flat"),
  prev: fc.constantFrom("none", "same", "same", "noise", "zero", "ex", "ex"),
  exPrice: cents(50, 900),
  prices: fc.tuple(cents(100, 1000), cents(100, 1000), cents(100, 1000), cents(100, 1000)),
  volume: fc.integer({ min: 0, max: 1_000_000 }),
  amount: cents(0, 100_000_000),
});

/** Daily bars of the days that follow 2023-11-20, a Monday; weekends are left out. */
function dailyBars(symbol: string, lot: number, days: readonly Day[]): LandedBar[] {
  const bars: LandedBar[] = [];
  const midnight =
    Date.parse("2023-11-20T00:00:00Z") - (OFFSET_HOURS[symbol.split(".")[1] as string] as number) * 3_600_000;
  let close = 5;
  for (const [n, { kind, prev, exPrice, prices, volume, amount }] of days.entries()) {
    if (n % 7 > 4 || kind === "absent") continue;
    const stated = { none: null, same: close, noise: close * (1 + 1e-12), zero: 0, ex: exPrice }[prev];
    const timestamp = midnight + n * DAY;
    const [a, b, c, d] = prices;
    if (kind === "traded") {
      close = d;
      const [high, low] = [Math.max(...prices), Math.min(...prices)];
      bars.push({
        symbol,
        lot,
        timestamp,
        open: a,
        high,
        low,
        close,
        volume,
        amount,
        prev_close: stated,
        open_interest: b,
      });
    } else {
      if (stated !== null && stated > 0) close = stated;
      const price = kind === "zeros" ? 0 : close;
      const flat = { open: price, high: price, low: price, close, volume: 0, amount: 0 };
      bars.push({ symbol, lot, timestamp, ...flat, prev_close: stated, settlement_price: c });
    }
  }
  return bars;
}

interface Minute {
  readonly day: number;
  readonly minute: number;
  readonly price: number;
  readonly spread: number;
  readonly volume: number;
}

/** The minutes at the borders of sessions, breaks and extended hours come up often. */
const anyMinute: fc.Arbitrary<Minute> = fc.record({
  day: fc.integer({ min: 0, max: 11 }),
  minute: fc.oneof(
    fc.constantFrom(570, 571, 600, 630, 631, 690, 691, 720, 780, 781, 840, 841, 900, 901, 960, 961, 1439),
    fc.integer({ min: 240, max: 1200 }),
  ),
  price: cents(100, 1000),
  spread: cents(0, 50),
  volume: fc.integer({ min: 0, max: 100_000 }),
});

/** Minute bars of the days that follow 2023-12-04. */
function minuteBars(symbol: string, lot: number, minutes: readonly Minute[]): LandedBar[] {
  const midnight =
    Date.parse("2023-12-04T00:00:00Z") - (OFFSET_HOURS[symbol.split(".")[1] as string] as number) * 3_600_000;
  const byTime = new Map(minutes.map((one) => [midnight + one.day * DAY + one.minute * 60_000, one]));
  return [...byTime].map(([timestamp, { price, spread, volume }]) => ({
    symbol,
    lot,
    timestamp,
    open: price,
    high: price + spread,
    low: price - spread,
    close: price + spread / 2,
    volume,
    amount: volume * price,
    prev_close: volume % 3 === 0 ? price : null,
  }));
}

const anyQuestion: fc.Arbitrary<Question> = fc.record(
  {
    period: fc.constantFrom<Period>(...PERIODS),
    adjust: fc.constantFrom<Adjustment>(...ADJUSTMENTS),
    count: fc.oneof(fc.integer({ min: 0, max: 20 }), fc.constant(10_000)),
    start: fc.integer({ min: Date.parse("2023-11-10T00:00:00Z"), max: Date.parse("2024-05-01T00:00:00Z") }),
    end: fc.integer({ min: Date.parse("2023-11-10T00:00:00Z"), max: Date.parse("2024-05-01T00:00:00Z") }),
  },
  { requiredKeys: ["period", "adjust", "count"] },
);

function pathOf(symbols: readonly string[], { period, adjust, count, start, end }: Question): string {
  const window = `${start === undefined ? "" : `&start_time=${start}`}${end === undefined ? "" : `&end_time=${end}`}`;
  return `/v1/klines/batch?symbols=${symbols.join()}&period=${period}&adjust=${adjust}&count=${count}${window}`;
}

/** Sums and products may be formed in another order; what is only picked or cut off must be equal. */
function expectEqual(found: Klines, expected: Klines, question: Question): void {
  expect(Object.keys(found).sort()).toEqual(Object.keys(expected).sort());
  expect(found.timestamp).toEqual(expected.timestamp);
  expect(found.volume).toEqual(expected.volume);
  const exact = question.adjust === "none";
  for (const [name, values] of Object.entries(expected) as [keyof Klines, (number | null)[]][]) {
    const given = found[name] as readonly (number | null)[];
    if (exact && name !== "amount") expect(given).toEqual(values);
    expect(given).toHaveLength(values.length);
    for (const [i, value] of values.entries()) {
      if (value === null) expect(given[i]).toBeNull();
      else expect(Math.abs((given[i] as number) - value)).toBeLessThanOrEqual(1e-9 * (1 + Math.abs(value)));
    }
  }
}

let nextCode = 100_000;

describe("responses equal a slow reference over the landed bars", () => {
  test("of every period, adjustment, count and window", async () => {
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            exchange: fc.constantFrom("SH", "HK", "US"),
            lot: fc.constantFrom(1, 100),
            days: fc.array(anyDay, { minLength: 1, maxLength: 100 }),
            minutes: fc.array(anyMinute, { minLength: 1, maxLength: 120 }),
          }),
          { minLength: 1, maxLength: 4 },
        ),
        fc.array(anyQuestion, { minLength: 12, maxLength: 12 }),
        async (instruments, questions) => {
          const market = instruments.map(({ exchange, lot, days, minutes }) => {
            const symbol = `${nextCode++}.${exchange}`;
            return { symbol, daily: dailyBars(symbol, lot, days), minute: minuteBars(symbol, lot, minutes) };
          });
          await landRows(
            served.lake,
            BARS_1D,
            market.flatMap((one) => one.daily),
          );
          await landRows(
            served.lake,
            BARS_1M,
            market.flatMap((one) => one.minute),
          );
          const symbols = market.map((one) => one.symbol);
          for (const question of questions) {
            seen.add(`${question.period} ${question.adjust}`);
            const { status, body } = await served.ask<{ data: Record<string, Klines> }>(
              pathOf(symbols, question),
            );
            expect(status).toBe(200);
            for (const { symbol, daily, minute } of market) {
              const landed = question.period.endsWith("m") ? minute : daily;
              if (landed.length === 0) expect(body.data).not.toHaveProperty([symbol]);
              else
                expectEqual(body.data[symbol] as Klines, referenceKlines(landed, daily, question), question);
            }
          }
        },
      ),
      { numRuns: cases({ few: 4, more: 15, all: 100 }) },
    );
    expect(seen.size).toBeGreaterThan(cases({ few: 8, more: 30, all: 30 }));
  });
});
