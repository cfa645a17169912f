import { describe, expect, test } from "vitest";
import { UsageError } from "../../src/core/errors.js";
import { isSymbol, regionOf } from "../../src/market/symbol.js";
import { BOARDS } from "../../src/sim/instrument.js";
import { simulateMarket } from "../../src/sim/market.js";
import { END, MARKET, SPEC, START, SYMBOLS } from "./sample-market.js";

const PATTERNS: Readonly<Record<string, RegExp>> = {
  SH_MAIN: /^60[0135]\d{3}\.SH$/,
  SZ_MAIN: /^00[0123]\d{3}\.SZ$/,
  SZ_GROWTH: /^30[01]\d{3}\.SZ$/,
  BJ: /^(430\d{3}|83\d{4})\.BJ$/,
  SH_ETF: /^5(10|12|15|16|88)\d{3}\.SH$/,
  HK_MAIN: /^0\d{4}\.HK$/,
  US_LISTED: /^[A-Z]{1,4}\.US$/,
};

describe("instruments", () => {
  test("are as many as requested, with different symbols and names", () => {
    expect(SYMBOLS).toHaveLength(SPEC.symbols);
    expect(new Set(SYMBOLS).size).toBe(SPEC.symbols);
    expect(new Set(MARKET.instruments.map((i) => i.name)).size).toBe(SPEC.symbols);
  });

  test("are sorted by symbol within CN, HK, US", () => {
    const keys = MARKET.instruments.map((i) => `${i.region} ${i.symbol}`);
    expect([...keys].sort()).toEqual(keys);
  });

  test("have symbols in the manner of their board, and about 70 % are Chinese", () => {
    for (const instrument of MARKET.instruments) {
      expect(instrument.symbol).toMatch(PATTERNS[instrument.board.id] as RegExp);
      expect(isSymbol(instrument.symbol)).toBe(true);
      expect(regionOf(instrument.symbol)).toBe(instrument.region);
      expect(instrument.nameEn).toMatch(/^[A-Z][\w .-]+$/);
      expect(instrument.name).toMatch(
        instrument.region === "US" ? /^[A-Z][\w .-]+$/ : /^[\u4e00-\u9fff]{4,}(ETF\d*)?$/,
      );
    }
    for (const board of BOARDS) {
      const count = MARKET.instruments.filter((i) => i.board === board).length;
      expect(Math.abs(count - board.share * SPEC.symbols)).toBeLessThan(1);
    }
    const chinese = MARKET.instruments.filter((i) => i.region === "CN").length;
    expect(chinese / SPEC.symbols).toBeCloseTo(0.7, 2);
  });

  test("some list and some delist within the history", () => {
    const listed = MARKET.instruments.filter((i) => i.listed > START);
    const delisted = MARKET.instruments.filter((i) => i.delisted !== undefined);
    expect(listed.length).toBeGreaterThan(10);
    expect(delisted.length).toBeGreaterThan(5);
    for (const i of delisted) expect(i.delisted && i.listed < i.delisted && i.delisted <= END).toBe(true);
  });

  test.each([1, 2, 7, 20, 5000, 12_000])("a market of %i has that many different ones", (symbols) => {
    const market = simulateMarket({ ...SPEC, symbols, days: 3 });
    expect(new Set(market.instruments.map((i) => i.symbol)).size).toBe(symbols);
    expect(market.instruments.every((i) => isSymbol(i.symbol) && !/^0+\./.test(i.symbol))).toBe(true);
  });

  test.each([
    { symbols: 0 },
    { days: 0 },
    { days: 1.5 },
    { seed: Number.NaN },
    { symbols: 20_001 },
    { end: "yesterday" as never },
  ])("a spec out of its bounds is refused: %o", (wrong) => {
    expect(() => simulateMarket({ ...SPEC, ...wrong })).toThrow(UsageError);
  });
});
