import fc from "fast-check";
import { expect, test } from "vitest";
import { formatValues } from "../../../src/notebook/page/format-values.js";

const numbers = (values: readonly (number | bigint | null)[], isPercent = false) =>
  formatValues({ kind: "number", values }, isPercent);

test.each([
  [
    [2025, 2026],
    ["2025", "2026"],
  ],
  [
    [20_250, 5],
    ["20,250", "5"],
  ],
  [
    [11.5, 12, null],
    ["11.5", "12.0", null],
  ],
  [
    [1688.123, 10],
    ["1,688.12", "10.00"],
  ],
  [[1234567.891], ["1,234,568"]],
  [
    [0.123456, -0.5],
    ["0.1235", "-0.5000"],
  ],
  [[0.000012345], ["0.0000123"]],
  [
    [-0, 1],
    ["0", "1"],
  ],
  [[9007199254740993n], ["9,007,199,254,740,993"]],
  [
    [Number.NaN, 1],
    ["NaN", "1"],
  ],
])("numbers %#", (values, texts) => {
  expect(numbers(values)).toEqual(texts);
});

test("ratios as percentages, dates, and times as short as they are", () => {
  expect(numbers([0.1234, -1, null], true)).toEqual(["12.34%", "-100.00%", null]);
  expect(formatValues({ kind: "date", values: [0, 20_000, 2 ** 31, null] })).toEqual([
    "1970-01-01",
    "2024-10-04",
    "infinity",
    null,
  ]);
  expect(formatValues({ kind: "time", values: [60_000, null] })).toEqual(["1970-01-01 00:01", null]);
  expect(formatValues({ kind: "time", values: [60_000, 1000] })).toEqual([
    "1970-01-01 00:01:00",
    "1970-01-01 00:00:01",
  ]);
  expect(formatValues({ kind: "time", values: [1, -1e18] })).toEqual([
    "1970-01-01 00:00:00.001",
    "-infinity",
  ]);
});

test("numbers of a column have the same decimals, and are near what they show", () => {
  fc.assert(
    fc.property(fc.array(fc.double({ noNaN: true, min: -1e9, max: 1e9 }), { minLength: 1 }), (values) => {
      const most = Math.max(...values.map(Math.abs));
      fc.pre(most >= 0.001);
      const texts = numbers(values).map((text) => text ?? "");
      const decimals = [...new Set(texts.map((text) => text.split(".")[1]?.length ?? 0))];
      expect(decimals.length).toBe(1);
      for (const [i, text] of texts.entries()) {
        const value = values[i] ?? 0;
        const error = Math.abs(Number(text.replaceAll(",", "")) - value) - 1e-9 * Math.abs(value);
        expect(error).toBeLessThanOrEqual(10 ** -(decimals[0] ?? 0) / 2);
        expect(error).toBeLessThanOrEqual(most / 20);
      }
    }),
  );
});
