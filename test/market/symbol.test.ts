import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { UsageError } from "../../src/core/errors.js";
import { EXCHANGE_REGION, isRegion } from "../../src/market/regions.js";
import {
  codeOf,
  exchangeOf,
  isSymbol,
  MAX_SYMBOL_LENGTH,
  parseSymbol,
  regionOf,
  splitList,
} from "../../src/market/symbol.js";

describe("symbols", () => {
  test("a text without a dot names no exchange, even where it is the name of one", () => {
    expect(["SH", "US", ""].map(regionOf)).toEqual([undefined, undefined, undefined]);
  });

  test.each([
    ["600519.SH", "600519", "SH", "CN"],
    ["00700.HK", "00700", "HK", "HK"],
    ["AAPL.US", "AAPL", "US", "US"],
    ["BRK.B.US", "BRK.B", "US", "US"],
    ["rb2501.SHF", "rb2501", "SHF", "CN"],
    ["7203.TYO", "7203", "TYO", undefined],
  ])("%s has its parts", (text, code, exchange, region) => {
    const symbol = parseSymbol(text);
    expect([codeOf(symbol), exchangeOf(symbol), regionOf(symbol)]).toEqual([code, exchange, region]);
  });

  test.each([
    "",
    "600519",
    ".SH",
    "600519.",
    "600519.sh",
    "600519.SHANGHAI",
    "6 0.SH",
    "a/b.SH",
    "a..SH",
    "'.SH",
    "é.US",
  ])("%j is refused", (text) => {
    expect(isSymbol(text)).toBe(false);
    expect(() => parseSymbol(text)).toThrow(UsageError);
  });

  test("the longest symbol is the longest", () => {
    const longest = `${"A".repeat(MAX_SYMBOL_LENGTH - 3)}.US`;
    expect(isSymbol(longest)).toBe(true);
    expect(isSymbol(`A${longest}`)).toBe(false);
  });

  test("the region is that of the text after the last dot, for any text", () => {
    const suffix = fc.constantFrom(
      ...Object.keys(EXCHANGE_REGION),
      "H",
      "S.",
      ".H",
      "\u0000\u5348",
      "sh",
      "SHX",
      "",
    );
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), suffix, (code, exchange) => {
        for (const text of [`${code}.${exchange}`, `${code}${exchange}`]) {
          const own = text.includes(".") ? exchangeOf(text) : "";
          expect(regionOf(text)).toBe(Object.hasOwn(EXCHANGE_REGION, own) ? EXCHANGE_REGION[own] : undefined);
        }
      }),
    );
  });

  test("names of Object.prototype are no exchanges and no regions", () => {
    expect(regionOf("x.constructor")).toBeUndefined();
    expect(isRegion("toString")).toBe(false);
    for (const region of Object.values(EXCHANGE_REGION)) expect(isRegion(region)).toBe(true);
  });

  test("a list is split, trimmed and rid of repeats, in order", () => {
    expect(splitList(" b.SH,a.SH ,, b.SH,")).toEqual(["b.SH", "a.SH"]);
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[a-z0-9.]{1,8}$/)), (items) => {
        expect(splitList(items.join(" , "))).toEqual([...new Set(items)]);
      }),
    );
  });
});
