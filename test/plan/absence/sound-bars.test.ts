import { expect, test } from "vitest";
import { soundBars } from "../../../src/plan/absence/sound-bars.js";
import { decodeKlines } from "../../../src/wire/decode/decode-klines.js";

const DAY = 86_400_000;
const START = Date.parse("2026-11-01T16:00:00Z");

/** Five daily bars of a symbol, of which one column has another value in one row. */
async function soundOf(symbol: string, column: string, row: number, value: string) {
  const timestamp = Array.from({ length: 5 }, (_, n) => START + n * DAY);
  const columns = Object.fromEntries(
    ["open", "high", "low", "close", "amount", "volume"].map((name) => [
      name,
      timestamp.map((_, at) => (name === column && at === row ? value : "10")),
    ]),
  );
  const texts = Object.entries({ timestamp, ...columns }).map(
    ([name, values]) => `"${name}":[${values.join()}]`,
  );
  const body = Buffer.from(`{"data":{"${symbol}":{${texts.join()}}}}`);
  const { columns: decoded } = await decodeKlines([body], { shape: "map" });
  const { runs, issues } = soundBars(decoded);
  return { rows: runs.map(({ start, end }) => [start, end]), issues };
}

test.each([
  [
    "600519.SH",
    "high",
    2,
    "9",
    "high_below_low",
    "600519.SH at 2026-11-03T16:00:00.000Z: high 9 is below low 10",
  ],
  [
    "600519.SH",
    "volume",
    2,
    "-1",
    "out_of_range",
    "600519.SH at 2026-11-03T16:00:00.000Z: volume -1 is below 0",
  ],
] as const)("%s, %s in row %i is %s: %s", async (symbol, column, row, value, rule, message) => {
  const { rows, issues } = await soundOf(symbol, column, row, value);
  expect(rows).toEqual([
    [0, 2],
    [3, 5],
  ]);
  expect(issues).toEqual([{ rule, message, symbol, rejected: 1 }]);
});

test("bars of an unknown exchange are one issue", async () => {
  const { rows, issues } = await soundOf("600519.XX", "high", 0, "10");
  expect(rows).toEqual([]);
  expect(issues).toMatchObject([{ rule: "unknown_exchange", rejected: 5 }]);
});

test("sound bars are one run", async () => {
  expect(await soundOf("600519.SH", "high", 0, "11")).toEqual({ rows: [[0, 5]], issues: [] });
});
