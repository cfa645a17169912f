import { expect, test } from "vitest";
import { risingColour } from "../../src/market/symbol.js";

const colourOf = (facts: { readonly region?: string; readonly symbol?: string }) =>
  risingColour((name) => facts[name]);

test("bars rise in red in mainland China, and in green elsewhere", () => {
  expect(["CN", "HK", "US"].map((region) => colourOf({ region }))).toEqual(["red", "green", "green"]);
  const symbols = ["600519.SH", "000001.SZ", "IF2412.CFX", "00700.HK", "AAPL.US", "X.NOWHERE", "text"];
  expect(symbols.map((symbol) => colourOf({ symbol }))).toEqual(
    "red red red green green green green".split(" "),
  );
});

test("the region comes first; one that is not known says nothing", () => {
  expect(colourOf({ region: "US", symbol: "600519.SH" })).toBe("green");
  expect(colourOf({ region: "China", symbol: "600519.SH" })).toBe("red");
  expect(colourOf({})).toBe("green");
});
