import { expect, test } from "vitest";
import { columnBatch, wordList } from "../../../src/arrow/column-batch.js";
import { batchRows } from "../../../src/dataset/dataset.js";

const SYMBOLS = ["a", "b", "c"];

/** A batch of five rows: two dates, and on the second two times. */
const batch = columnBatch(
  [
    { name: "symbol", kind: "word", values: Int32Array.of(0, 2, 0, 1, 2), words: wordList(SYMBOLS) },
    { name: "trade_date", kind: "date", values: Int32Array.of(0, 0, 1, 1, 1) },
    { name: "timestamp", kind: "milliseconds", values: BigInt64Array.of(10n, 10n, 20n, 20n, 30n) },
    { name: "close", kind: "double", nanIsNull: true, values: Float64Array.of(1, Number.NaN, 3, 4, 5) },
    { name: "open", kind: "double", nanIsNull: true, values: Float64Array.of(6, 7, 8, 9, 10) },
    { name: "tradable", kind: "boolean", values: Uint8Array.of(1, 0, 1, 1, 0) },
  ],
  5,
);

test("a batch's rows are typed arrays, with the rows of each date", () => {
  const rows = batchRows(batch, { symbols: SYMBOLS, fields: 2, isIntraday: false });
  expect(rows).toEqual({
    rows: 5,
    symbols: SYMBOLS,
    symbol: Int32Array.of(0, 2, 0, 1, 2),
    fields: { close: Float64Array.of(1, Number.NaN, 3, 4, 5), open: Float64Array.of(6, 7, 8, 9, 10) },
    masks: { tradable: Uint8Array.of(1, 0, 1, 1, 0) },
    labels: [
      { date: "1970-01-01", time: undefined, start: 0, end: 2 },
      { date: "1970-01-02", time: undefined, start: 2, end: 5 },
    ],
  });
});

test("of bars within a day, with the rows of each end of a bar", () => {
  const { labels } = batchRows(batch, { symbols: SYMBOLS, fields: 2, isIntraday: true });
  expect(labels).toEqual([
    { date: "1970-01-01", time: 10, start: 0, end: 2 },
    { date: "1970-01-02", time: 20, start: 2, end: 4 },
    { date: "1970-01-02", time: 30, start: 4, end: 5 },
  ]);
});

test("of no rows there are none", () => {
  const rows = batchRows(batch.slice(0, 0), { symbols: SYMBOLS, fields: 2, isIntraday: false });
  expect(rows).toMatchObject({ rows: 0, labels: [] });
});
