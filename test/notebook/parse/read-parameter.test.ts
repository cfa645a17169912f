import { describe, expect, test } from "vitest";
import { readParameter } from "../../../src/notebook/parse/read-directive.js";

describe("a parameter", () => {
  test.each([
    ["symbol = '600519.SH'", { name: "symbol", expression: "'600519.SH'" }],
    ["days = 250 min=20 max=2500", { name: "days", expression: "250", min: 20, max: 2500 }],
    ["x = -1.5 max=0 min=-2.25", { name: "x", expression: "-1.5", min: -2.25, max: 0 }],
    [
      "symbol = '600519.SH' options=(SELECT symbol FROM instruments WHERE type = 'etf')",
      {
        name: "symbol",
        expression: "'600519.SH'",
        options: "SELECT symbol FROM instruments WHERE type = 'etf'",
      },
    ],
    // Within parentheses and texts these are words of the expression.
    [
      "d = (SELECT max(a) FROM t WHERE min= 3)",
      { name: "d", expression: "(SELECT max(a) FROM t WHERE min= 3)" },
    ],
    ["d = ' max=3'", { name: "d", expression: "' max=3'" }],
  ])("%s", (text, parameter) => {
    expect(readParameter(text)).toEqual(parameter);
  });

  test.each([
    ["symbol", "declares nothing"],
    ["days = 250 min=few", "min=few"],
    ["days = 250 min=1 min=2", "min is given twice"],
    ["days = 250 options=SELECT", "options=SELECT"],
  ])("is refused: %s", (text, message) => {
    expect(() => readParameter(text)).toThrow(new RegExp(message));
  });
});
