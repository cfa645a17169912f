import { expect, test } from "vitest";
import { isPresent } from "../../src/core/bits.js";
import { soundBars } from "../../src/plan/bar-rules.js";
import { decodeKlines } from "../../src/wire/decode/decode-klines.js";
import type { DoubleColumn } from "../../src/wire/kline-columns.js";

const DAY = 86_400_000;
const START = Date.parse("2026-11-01T16:00:00Z");

/** Five daily bars of a symbol, of which one column has another value in one row. */
async function soundOf(symbol: string, column: string, row: number, value: string) {
  const timestamp = Array.from({ length: 5 }, (_, n) => START + n * DAY);
  const columns = Object.fromEntries(
    ["open", "high", "low", "close", "amount", "volume", "prev_close", "settlement_price"].map((name) => [
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
  const doubles = runs[0]?.values.doubles[column as DoubleColumn];
  const values =
    doubles && timestamp.map((_, at) => (isPresent(doubles.validity, at) ? doubles.values[at] : null));
  return { rows: runs.map(({ start, end }) => [start, end]), issues, values };
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

test.each([
  ["prev_close", "-0.5", null, "is no price above 0"],
  ["prev_close", "0", null, "is no price above 0"],
  ["settlement_price", "-0.5", -0.5, undefined],
] as const)("%s of %s is %s", async (column, stated, value, remark) => {
  const { rows, issues, values } = await soundOf("600519.SH", column, 2, stated);
  expect(rows).toEqual([[0, 5]]);
  expect(values).toEqual([10, 10, value, 10, 10]);
  expect(issues).toEqual(
    remark === undefined
      ? []
      : [
          {
            rule: "out_of_range",
            symbol: "600519.SH",
            column,
            rejected: 0,
            message: `600519.SH and maybe others: ${column} of 1 bars ${remark}; it became null`,
          },
        ],
  );
});

test("sound bars are one run", async () => {
  expect(await soundOf("600519.SH", "high", 0, "11")).toMatchObject({ rows: [[0, 5]], issues: [] });
});
