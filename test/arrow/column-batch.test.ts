import { Table, tableFromIPC, tableToIPC } from "apache-arrow";
import { expect, test } from "vitest";
import { type BatchColumn, columnBatch, wordList } from "../../src/arrow/column-batch.js";
import { RowTable } from "../../src/arrow/row-table.js";
import type { TradingDate } from "../../src/core/time.js";

const ROWS = 67;
const LACKS = new Set([0, 8, 65]);
const validity = new Uint8Array(16).fill(0xff);
for (const row of LACKS) validity[row >> 3] = (validity[row >> 3] as number) & ~(1 << (row & 7));

const rows = Array.from({ length: ROWS }, (_, row) => row);
const instant = (row: number): bigint => BigInt(row) * 1_000_000n;
const day = (row: number): TradingDate =>
  new Date(row * 86_400_000).toISOString().slice(0, 10) as TradingDate;
const list = <T>(of: (row: number) => T): (T | null)[] =>
  rows.map((row) => (LACKS.has(row) ? null : of(row)));
const words = wordList(["a", "é", ""]);

type Case = [what: string, column: BatchColumn, valueOf: (row: number) => unknown, isWhole?: boolean];
const name = "c";

test.each<Case>([
  ["doubles", { name, kind: "double", values: Float64Array.from(rows), validity }, (row) => row],
  [
    "doubles, NaN where there is none",
    { name, kind: "double", values: Float64Array.from(list(Number), (v) => v ?? NaN), nanIsNull: true },
    (row) => row,
  ],
  ["a list of doubles", { name, kind: "double", values: list((row) => row / 2) }, (row) => row / 2],
  ["int64", { name, kind: "int64", values: BigInt64Array.from(rows, BigInt), validity }, (row) => row],
  ["a list of int64", { name, kind: "int64", values: list(BigInt) }, (row) => row],
  ["int32", { name, kind: "int32", values: Int32Array.from(rows), validity }, (row) => row],
  ["days", { name, kind: "date", values: Int32Array.from(rows), validity }, day],
  ["a list of dates", { name, kind: "date", values: list(day) }, day],
  [
    "milliseconds",
    { name, kind: "milliseconds", values: BigInt64Array.from(rows, instant), validity },
    (row) => new Date(Number(instant(row))),
  ],
  [
    "a list of microseconds",
    { name, kind: "microseconds", values: list(instant) },
    (row) => new Date(Number(instant(row)) / 1000),
  ],
  [
    "booleans",
    { name, kind: "boolean", values: Uint8Array.from(rows, (row) => row % 2), validity },
    (row) => row % 2 === 1,
  ],
  ["texts", { name, kind: "text", values: list((row) => `é${row}`) }, (row) => `é${row}`],
  [
    "runs of texts",
    {
      name,
      kind: "runs",
      runs: [
        { text: "é", rows: 5 },
        { text: "", rows: 2 },
        { text: "b", rows: ROWS - 7 },
      ],
    },
    (row) => (row < 5 ? "é" : row < 7 ? "" : "b"),
  ],
  [
    "words",
    { name, kind: "word", words, values: Int32Array.from(rows, (row) => row % 3), validity },
    (row) => ["a", "é", ""][row % 3],
  ],
  ["a list of words", { name, kind: "word", words, values: list(() => 1) }, () => "é"],
])("%s are read back through Arrow's own IPC", (_, column, valueOf) => {
  const isWhole = column.kind === "runs";
  const batch = columnBatch([column], ROWS);
  const read = tableFromIPC(tableToIPC(new Table([batch]), "stream"));
  const found = new RowTable(read.batches).rows().map((row) => row[name]);
  expect(found).toEqual(rows.map((row) => (!isWhole && LACKS.has(row) ? null : valueOf(row))));
  expect(batch.getChild(name)?.nullCount).toBe(isWhole ? 0 : LACKS.size);
});

test("whole columns have no bitmap, typed arrays are not copied, and fields have units", () => {
  const values = Float64Array.of(1, 2);
  const batch = columnBatch(
    [
      { name: "a", kind: "double", values, nanIsNull: true, unit: "ratio", isRequired: true },
      { name: "b", kind: "text", values: ["x", "y"] },
    ],
    2,
    new Map([["versions", "1"]]),
  );
  expect(batch.getChild("a")?.data[0]?.values).toBe(values);
  expect(batch.data.children.map(({ nullBitmap }) => nullBitmap.length)).toEqual([0, 0]);
  expect(batch.schema.fields.map((field) => [field.nullable, field.metadata.get("unit")])).toEqual([
    [false, "ratio"],
    [true, undefined],
  ]);
  expect(batch.schema.metadata.get("versions")).toBe("1");
});
