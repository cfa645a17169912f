import { describe, expect, test } from "vitest";
import type { PanelSymbol } from "../../../src/dataset/panel/block.js";
import { divideSymbols } from "../../../src/dataset/panel/lake-panel.js";

function symbolsOf(codes: readonly number[]): PanelSymbol[] {
  return codes.map((code) => ({ symbol: `${600_000 + code}.SH`, region: "CN", memberRanges: [] }));
}

const range = (count: number): number[] => Array.from({ length: count }, (_, n) => n);
const textsOf = (symbols: readonly PanelSymbol[], most: number): string[] =>
  divideSymbols(symbols, most, "stable").map((part) => part.symbols.map(({ symbol }) => symbol).join());

describe("symbols are divided into", () => {
  test.each(["even", "stable"] as const)(
    "%s blocks: each symbol is in one, in order, and none is too large",
    (parts) => {
      for (const [count, most] of [
        [1, 0],
        [7, 1],
        [1000, 37],
        [1000, 64],
        [1000, 5000],
      ] as const) {
        const symbols = symbolsOf(range(count));
        const divided = divideSymbols(symbols, most, parts);
        expect(divided.flatMap((one) => one.symbols)).toEqual(symbols);
        expect(divided.map(({ index }) => index)).toEqual(range(divided.length));
        for (const { start, symbols: own } of divided) {
          expect(own.length).toBeLessThanOrEqual(Math.max(1, most));
          expect(own[0]).toBe(symbols[start]);
        }
      }
    },
  );

  test("stable blocks: a symbol that is added changes those near it, less memory for a symbol changes none", () => {
    const all = range(3000);
    const whole = textsOf(symbolsOf(all), 100);
    expect(whole.length).toBeGreaterThan(60);
    expect(textsOf(symbolsOf(all), 127)).toEqual(whole);
    for (const added of range(30).map((n) => n * 97)) {
      const before = new Set(textsOf(symbolsOf(all.filter((code) => code !== added)), 100));
      expect(whole.filter((text) => !before.has(text)).length).toBeLessThan(12);
    }
  });
});
