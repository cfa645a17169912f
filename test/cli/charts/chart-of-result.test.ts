import { expect, test } from "vitest";
import { type ChartWish, chartOfResult } from "../../../src/cli/charts/chart-of-result.js";

const SIZE = { width: 60, height: 8 };
const DAYS = Array.from({ length: 20 }, (_, i) => `2026-11-${String(i + 1).padStart(2, "0")}`);
const BARS = {
  columns: [
    { name: "symbol", type: "VARCHAR" },
    { name: "trade_date", type: "DATE" },
    ...["open", "high", "low", "close"].map((name) => ({ name, type: "DOUBLE" })),
    { name: "volume", type: "BIGINT" },
  ],
  // The newest first, as they are often asked for.
  rows: DAYS.map((day, i) => ["A.US", day, 10 + i, 12 + i, 9 + i, 11 + i, String(100 * (i + 1))]).reverse(),
};
const ONE = (values: readonly (number | null)[], type = "INTEGER") => ({
  columns: [
    { name: "x", type },
    { name: "y", type: "DOUBLE" },
  ],
  rows: values.map((y, x) => [x, y]),
});
const lines = (chart: string): string[] => chart.split("\n");

test("bars are candles, in the order of their dates, with their volumes", () => {
  const drawn = lines(chartOfResult(BARS, {}, SIZE));
  expect(drawn).toHaveLength(SIZE.height + 2);
  expect(drawn.at(-1)?.trim()).toMatch(/^2026-11-01 +2026-11-20$/);
  expect(drawn.at(-2)?.trim()).toBe("vol ▁▁▂▂▂▃▃▄▄▄▅▅▆▆▆▇▇███".slice(0, 24));
  // Rising prices begin at the bottom left and end at the top right.
  expect(drawn[0]?.trimEnd().length).toBeGreaterThan(drawn[SIZE.height - 1]?.trimEnd().length ?? 0);
});

test("minutes are in the order of their times, not of their days", () => {
  const minutes = Array.from({ length: 9 }, (_, i) => `2026-11-20 01:3${i}:00+00`);
  const bars = {
    columns: [
      { name: "trade_date", type: "DATE" },
      { name: "timestamp", type: "TIMESTAMP WITH TIME ZONE" },
      ...["open", "high", "low", "close"].map((name) => ({ name, type: "DOUBLE" })),
    ],
    rows: minutes.map((minute, i) => ["2026-11-20", minute, 10 + i, 12 + i, 9 + i, 11 + i]).reverse(),
  };
  expect(
    lines(chartOfResult(bars, {}, SIZE))
      .at(-1)
      ?.trim(),
  ).toBe(`${minutes[0]} ${minutes[8]}`);
});

test("more candles than fit are put together", () => {
  const many = {
    ...BARS,
    rows: Array.from({ length: 1000 }, (_, i) => ["A", String(i + 10_000), 1, 3, 0, 2, "5"]),
  };
  for (const line of lines(chartOfResult(many, { kind: "candlestick" }, SIZE)))
    expect(line.length).toBeLessThanOrEqual(SIZE.width);
});

test("a line goes through its points", () => {
  const drawn = lines(chartOfResult(ONE([0, 1, 2, 3, 4]), {}, SIZE));
  expect(drawn[0]).toBe("y by x");
  const cells = drawn.slice(1, -1).map((line) => line.slice(5).trimEnd());
  expect(cells[0]).toMatch(/^ +[⠀-⣿]+$/);
  expect(cells.at(-1)).toMatch(/^[⠀-⣿]+$/);
  expect(drawn[1]).toMatch(/^ *4\.0/);
  expect(drawn.at(-2)).toMatch(/^ *0\.0/);
  expect(drawn.at(-1)?.trim()).toMatch(/^0 +4$/);
});

test("a line of equal values is flat, and missing values are left out", () => {
  const drawn = lines(chartOfResult(ONE([5, null, 5, 5]), {}, SIZE));
  expect(drawn.filter((line) => /[⠁-⣿]/.test(line))).toHaveLength(1);
});

test("texts have bars, as long as their values", () => {
  const result = {
    columns: [
      { name: "industry", type: "VARCHAR" },
      { name: "n", type: "BIGINT" },
    ],
    rows: [
      ["银行", "4"],
      ["energy", "-2"],
      ["none", "0"],
    ],
  };
  const [title, first = "", second = "", third = ""] = lines(chartOfResult(result, {}, SIZE));
  expect(title).toBe("n by industry");
  const blocks = (line: string): number => line.replaceAll(/[^█]/g, "").length;
  expect(Math.abs(blocks(first) - 2 * blocks(second))).toBeLessThanOrEqual(1);
  expect(blocks(third)).toBe(0);
  expect(first.indexOf("4")).toBeGreaterThan(0);
});

test.each([
  [
    ["4", "-2"],
    ["4", "-2"],
  ],
  [
    ["0.05", "-0.031"],
    ["0.0500", "-0.0310"],
  ],
])("bars of %j are labelled %j", (values, labels) => {
  const result = {
    columns: [
      { name: "name", type: "VARCHAR" },
      { name: "value", type: "DOUBLE" },
    ],
    rows: values.map((value, index) => [`n${index}`, Number(value)]),
  };
  const [, ...bars] = lines(chartOfResult(result, { kind: "bar" }, SIZE));
  expect(bars.map((bar) => /^n\d +(\S+)/.exec(bar)?.[1])).toEqual(labels);
});

test.each<[ChartWish, RegExp]>([
  [{ x: "nothing" }, /column nothing: the result has none of this name/],
  [{ y: "symbol" }, /column symbol: is VARCHAR, and no number to draw/],
])("%j is refused", (wish, message) => {
  expect(() => chartOfResult(BARS, wish, SIZE)).toThrow(message);
});

test("a result without numbers, or without rows, is refused", () => {
  const text = { columns: [{ name: "a", type: "VARCHAR" }], rows: [["x"]] };
  expect(() => chartOfResult(text, {}, SIZE)).toThrow("the result has no numbers to draw");
  expect(() => chartOfResult(ONE([]), {}, SIZE)).toThrow("column y: has no value to draw");
  expect(() => chartOfResult(ONE([1]), { kind: "candlestick" }, SIZE)).toThrow(
    "column open: the result has none",
  );
});
