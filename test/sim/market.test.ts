import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { TradingDate } from "../../src/core/time.js";
import { simulateMarket } from "../../src/sim/market.js";
import { cases } from "../sweep.js";
import { type Bar, barsOf, bytesOf, dateOf, END, MARKET, SPEC, START, SYMBOLS } from "./sample-market.js";

const SMALL = { ...SPEC, symbols: 40, days: 60 };
const small = simulateMarket(SMALL);
const smallSymbols = small.instruments.map((i) => i.symbol);
const days = small.tradingDays("CN");
const from = days[0] as TradingDate;
const allDaily = barsOf(small.dailyBars(smallSymbols, from, END));
const allMinutes = barsOf(small.minuteBars(smallSymbols, from, END));

const anyRange = fc
  .tuple(fc.nat(days.length - 1), fc.nat(4))
  .map(
    ([start, length]) =>
      [days[start], days[Math.min(days.length - 1, start + length)]] as [TradingDate, TradingDate],
  );

describe("a market", () => {
  test("is the same for the same spec", () => {
    const again = simulateMarket(SMALL);
    expect(again.instruments).toEqual(small.instruments);
    expect(bytesOf(again.minuteBars(smallSymbols, from, END))).toEqual(
      bytesOf(small.minuteBars(smallSymbols, from, END)),
    );
    expect(bytesOf(again.dailyBars(smallSymbols, from, END))).toEqual(
      bytesOf(small.dailyBars(smallSymbols, from, END)),
    );
    expect(again.universesAsOf(END)).toEqual(small.universesAsOf(END));
    expect(again.instrumentsAsOf(END)).toEqual(small.instrumentsAsOf(END));
    expect(again.statementVersions("cash_flow", smallSymbols)).toEqual(
      small.statementVersions("cash_flow", smallSymbols),
    );
  });

  test.each([SPEC.seed + 1, -SPEC.seed, SPEC.seed + 2 ** 32])("is another one for seed %i", (seed) => {
    const other = simulateMarket({ ...SMALL, seed });
    expect(other.instruments.map((i) => i.symbol)).not.toEqual(smallSymbols);
    const symbols = other.instruments.map((i) => i.symbol);
    expect(barsOf(other.dailyBars(symbols, from, END)).map((b) => b.close)).not.toEqual(
      allDaily.map((b) => b.close),
    );
  });

  test("gives for a part a slice of the whole, after any calls", () => {
    fc.assert(
      fc.property(anyRange, fc.subarray(smallSymbols), fc.boolean(), ([first, last], symbols, fresh) => {
        const market = fresh ? simulateMarket(SMALL) : small;
        const within = (bar: Bar): boolean =>
          symbols.includes(bar.symbol) && first <= dateOf(bar) && dateOf(bar) <= last;
        const shuffled = symbols.toReversed();
        expect(barsOf(market.minuteBars(shuffled, first, last))).toEqual(allMinutes.filter(within));
        expect(barsOf(market.dailyBars(shuffled, first, last))).toEqual(allDaily.filter(within));
      }),
      { numRuns: cases({ few: 8, all: 100 }) },
    );
  });

  test("orders bars by symbol and strictly by time, and counts them", () => {
    for (const columns of [
      MARKET.dailyBars(SYMBOLS.toReversed(), START, END),
      small.minuteBars([...smallSymbols, ...smallSymbols, "NONE.SH"], from, END),
    ]) {
      expect([...columns.symbols].sort()).toEqual(columns.symbols);
      expect(new Set(columns.symbols).size).toBe(columns.symbols.length);
      expect(columns.symbols).not.toContain("NONE.SH");
      for (let i = 1; i < columns.rows; i++) {
        const [a, b] = [columns.symbolIndex[i - 1] as number, columns.symbolIndex[i] as number];
        const later = (columns.timestamp[i] as bigint) > (columns.timestamp[i - 1] as bigint);
        if (!(b > a || (b === a && later))) throw new Error(`row ${i} is out of order`);
      }
      expect(columns.timestamp).toHaveLength(columns.rows);
      expect(columns.doubles.close.values).toHaveLength(columns.rows);
      expect(columns.rows).toBeGreaterThan(10_000);
    }
  });

  test("has no bars where there are no days, no symbols or no such symbol", () => {
    for (const columns of [
      small.dailyBars([], from, END),
      small.minuteBars(["NONE.SH"], from, END),
      small.dailyBars(smallSymbols, END, from),
      small.minuteBars(smallSymbols, "2026-10-03" as TradingDate, "2026-10-04" as TradingDate),
    ]) {
      expect(columns.rows).toBe(0);
    }
  });
});
