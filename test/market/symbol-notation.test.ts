import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EXCHANGE_REGION } from "../../src/market/regions.js";
import { isSymbol } from "../../src/market/symbol.js";
import { readSymbol } from "../../src/market/symbol-notation.js";
import { cases } from "../sweep.js";

const symbolOf = (text: string, exchange?: string): string | undefined => {
  const read = readSymbol(text, exchange);
  return "symbol" in read ? read.symbol : undefined;
};

describe("notations of one symbol", () => {
  test.each([
    ["600000.SH", ["600000.SH", "sh600000", "SH600000", "sh.600000", "SH.600000", "SH#600000", "SH_600000"]],
    [
      "600000.SH",
      ["600000.XSHG", "600000.SS", "600000.SSE", "600000.sh", "SH600000.SH", "600000", " 600000.SH\t"],
    ],
    ["600000.SH", ['="600000.SH"', "'600000.SH", "６０００００.SH", "600000.SHA"]],
    ["000001.SZ", ["000001.SZ", "1.SZ", "sz000001", "000001.XSHE", "000001.SHE", "000001.SZSE"]],
    ["000001.SH", ["000001.SH", "1.SH", "sh000001", "000001.XSHG"]],
    ["430047.BJ", ["430047.BJ", "bj430047", "430047.XBSE", "430047"]],
    [
      "00700.HK",
      [
        "00700.HK",
        "0700.HK",
        "700.HK",
        "hk00700",
        "HK.00700",
        "00700.HKEX",
        "00700.XHKG",
        "HK00700.HK",
        "00700",
      ],
    ],
    ["AAPL.US", ["AAPL.US", "aapl.us", "US.AAPL", "AAPL.O", "AAPL.OQ", "AAPL.NASDAQ", "AAPL.XNAS"]],
    ["BRK.B.US", ["BRK.B.US", "brk.b.us", "BRK/B.US"]],
    ["IF2401.CFX", ["IF2401.CFX", "IF2401.CFFEX", "IF2401.CCFX"]],
  ])("%s", (symbol, texts) => {
    expect(texts.map((text) => symbolOf(text))).toEqual(texts.map(() => symbol));
  });

  test("an exchange completes only texts that name none", () => {
    expect(
      ["AAPL", "BRK.B", "BRK/B", "BRK-B", "MSFT.US", "700.HK", "600000.XSHG"].map((one) =>
        symbolOf(one, "US"),
      ),
    ).toEqual(["AAPL.US", "BRK.B.US", "BRK.B.US", "BRK-B.US", "MSFT.US", "00700.HK", "600000.SH"]);
    expect(["000001", "2", "600000", "300750"].map((one) => symbolOf(one, "SZ"))).toEqual([
      "000001.SZ",
      "000002.SZ",
      "600000.SH",
      "300750.SZ",
    ]);
    expect(symbolOf("700", "HK")).toBe("00700.HK");
  });
});

test.each([
  "",
  " ",
  "nan",
  "nan.US",
  "NaN.SH",
  "null.US",
  "None.HK",
  "000001",
  "Apple Inc.",
  "600000.XX",
  "6000000.SH",
  "60000.SH",
  "00700.SH",
  "0001.SZ",
  "ABC.SZ",
  "60A000.SH",
  "AAPL.US.US",
  ".US",
  "a b.US",
  "^GSPC.US",
  "😀.US",
  ";688697",
  "430047.NQ",
  "CLK20.NYM",
  "BTCUSDT",
])("%j is no symbol, and says why", (text) => {
  expect(readSymbol(text)).toEqual({ reason: expect.stringMatching(/\S/) });
});

test.each(["000001", "430047.NQ", "CLK20.NYM", "SHOP.TO", "a b", ""])(
  "%j is no symbol of the US, which was said",
  (text) => {
    expect(symbolOf(text, "US")).toBeUndefined();
  },
);

test("a reason names the option that decides, and the text", () => {
  expect(readSymbol("000001")).toEqual({
    reason: '"000001" may be of several exchanges: `exchange: "SZ"` decides, or a suffix such as 000001.SZ',
  });
  expect(readSymbol("AAPL")).toEqual({
    reason: '"AAPL" names no exchange: `exchange: "US"` completes it, or a suffix such as AAPL.US',
  });
});

const code = {
  CN: fc.stringMatching(/^[0-9]{6}$/),
  HK: fc.stringMatching(/^[0-9]{5}$/),
  US: fc.stringMatching(/^[A-Z]{1,5}([.^_-][A-Z0-9])?$/),
} as const;
const symbols = fc.oneof(
  fc.tuple(code.CN, fc.constantFrom("SH", "SZ", "BJ")),
  fc.tuple(code.HK, fc.constant("HK")),
  fc.tuple(code.US, fc.constant("US")),
);
const runs = { numRuns: cases({ few: 300, all: 20_000 }) };

test("a symbol of the lake reads as itself, whatever exchange is said, and whatever blanks are around it", () => {
  fc.assert(
    fc.property(
      symbols,
      fc.option(fc.constantFrom(...Object.keys(EXCHANGE_REGION)), { nil: undefined }),
      fc.constantFrom("", " ", "\t"),
      ([own, suffix], exchange, blank) => {
        fc.pre(!["NAN", "NULL", "NONE"].includes(own));
        expect(symbolOf(`${blank}${own}.${suffix}${blank}`, exchange)).toBe(`${own}.${suffix}`);
      },
    ),
    runs,
  );
});

test("whatever the text, what is read is a symbol of a known exchange that reads as itself, or has a reason", () => {
  const texts = fc.oneof(
    fc.string({ unit: "grapheme", maxLength: 20 }),
    fc.stringMatching(/^[A-Za-z0-9.#_/^=" '-]{0,14}$/),
    fc.stringMatching(/^(sh|SZ|hk|us)?[.#]?[0-9A-Z]{1,7}(\.(SH|XSHE|HK|us|O|N|XX))?$/),
  );
  fc.assert(
    fc.property(texts, fc.option(fc.constantFrom("US", "HK", "SZ"), { nil: undefined }), (text, exchange) => {
      const read = readSymbol(text, exchange);
      if ("reason" in read) {
        expect(read.reason.length).toBeGreaterThan(5);
        return;
      }
      expect(isSymbol(read.symbol)).toBe(true);
      expect(Object.keys(EXCHANGE_REGION)).toContain(read.symbol.slice(read.symbol.lastIndexOf(".") + 1));
      expect(symbolOf(read.symbol)).toBe(read.symbol);
    }),
    runs,
  );
});
