import { expect, test } from "vitest";
import { type ChartWish, chartOfResult } from "../../../src/cli/charts/chart-of-result.js";

const WIDTH = 60;
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
  const drawn = lines(chartOfResult(BARS, {}, WIDTH));
  expect(drawn).toHaveLength(16);
  expect(drawn.at(-1)?.trim()).toMatch(/^2026-11-01 +2026-11-20$/);
  expect(drawn.at(-2)?.trim()).toBe("vol ▁▁▂▂▂▃▃▄▄▄▅▅▆▆▆▇▇███".slice(0, 24));
  // Rising prices begin at the bottom left and end at the top right.
  expect(drawn[0]?.trimEnd().length).toBeGreaterThan(drawn[13]?.trimEnd().length ?? 0);
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
    lines(chartOfResult(bars, {}, WIDTH))
      .at(-1)
      ?.trim(),
  ).toBe(`${minutes[0]} ${minutes[8]}`);
});

test("more candles than fit are put together", () => {
  const many = {
    ...BARS,
    rows: Array.from({ length: 1000 }, (_, i) => ["A", String(i + 10_000), 1, 3, 0, 2, "5"]),
  };
  for (const line of lines(chartOfResult(many, { kind: "candlestick" }, WIDTH)))
    expect(line.length).toBeLessThanOrEqual(WIDTH);
});

test("numbers are a line, without those that are missing; equal ones a flat one", () => {
  const drawn = lines(chartOfResult(ONE([5, null, 5, 5]), {}, WIDTH));
  expect(drawn[0]).toBe("y by x");
  expect(drawn.at(-1)?.trim()).toMatch(/^0 +3$/);
  expect(drawn.filter((line) => /[⠁-⣿]/.test(line))).toHaveLength(1);
});

test("the ends of the axes are those of what is drawn, with the digits that tell them apart", () => {
  const average = lines(
    chartOfResult(ONE([null, null, 3912.31, 3912.95, null], "VARCHAR"), { kind: "line" }, WIDTH),
  );
  expect(average.at(-1)?.trim()).toMatch(/^2 +3$/);
  expect([1, 8, 14].map((line) => average[line]?.trim().split(" ")[0])).toEqual([
    "3,912.95",
    "3,912.63",
    "3,912.31",
  ]);
});

test("dates are a line at equal distances, in their order", () => {
  const days = ["2026-11-30", "2026-11-02", "2026-11-03"];
  const result = { ...ONE([2, 0, 1], "DATE"), rows: days.map((day, i) => [day, [2, 0, 1][i] ?? 0]) };
  const drawn = lines(chartOfResult(result, {}, WIDTH));
  expect(drawn.at(-1)?.trim()).toMatch(/^2026-11-02 +2026-11-30$/);
  const even = lines(chartOfResult(ONE([0, 1, 2]), {}, WIDTH));
  expect(drawn.slice(1, -1)).toEqual(even.slice(1, -1));
});

test("texts have bars, the first of many", () => {
  const result = {
    columns: [
      { name: "industry", type: "VARCHAR" },
      { name: "n", type: "BIGINT" },
    ],
    rows: Array.from({ length: 60 }, (_, i) => [`银行${i}`, String(60 - i)]),
  };
  const [title, , first, ...others] = lines(chartOfResult(result, {}, WIDTH));
  expect(title).toBe("n by industry");
  expect(first).toMatch(/^银行0 +60 +▇+$/);
  expect(others).toHaveLength(50);
  expect(others.at(-1)).toBe("… and 10 more");
});

test.each<[ChartWish, RegExp]>([
  [{ x: "nothing" }, /column nothing: the result has none of this name/],
  [{ y: "symbol" }, /column symbol: is VARCHAR, and no number to draw/],
])("%j is refused", (wish, message) => {
  expect(() => chartOfResult(BARS, wish, WIDTH)).toThrow(message);
});

test("a result without numbers is refused; one without rows has nothing to draw", () => {
  const text = { columns: [{ name: "a", type: "VARCHAR" }], rows: [["x"]] };
  expect(() => chartOfResult(text, {}, WIDTH)).toThrow("the result has no numbers to draw");
  expect(chartOfResult(ONE([]), {}, WIDTH)).toBe("y by x\nno numbers to draw");
  expect(() => chartOfResult(ONE([1]), { kind: "candlestick" }, WIDTH)).toThrow(
    "column open: the result has none",
  );
});
