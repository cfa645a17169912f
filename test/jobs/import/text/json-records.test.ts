import fc from "fast-check";
import { expect, test } from "vitest";
import { fieldNames, plainName } from "../../../../src/jobs/import/plan/field-names.js";
import { recordsOf } from "../../../../src/jobs/import/text/json-records.js";
import { cases } from "../../../sweep.js";

const KNOWN = new Set(
  Object.values(fieldNames("bars_1d"))
    .flat()
    .filter((name) => name !== ""),
);
const recordsIn = (document: unknown): Record<string, string | null>[] =>
  [...recordsOf(document, KNOWN)].map((record) =>
    Object.fromEntries(
      Object.entries(record).map(([name, value]) => [name, value === null ? null : String(value)]),
    ),
  );
const BARS = [
  { date: "2024-01-02", open: 10, high: 11, low: 9, close: 10.5, volume: 1000 },
  { date: "2024-01-03", open: 10.5, high: 12, low: 10, close: null, volume: 2000 },
];
const AS_TEXT = BARS.map((bar) =>
  Object.fromEntries(
    Object.entries(bar).map(([name, value]) => [name, value === null ? null : String(value)]),
  ),
);
const columnsOf = (rows: readonly Record<string, unknown>[]): Record<string, unknown[]> =>
  Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, rows.map((row) => row[name])]));
const NAMES = Object.keys(BARS[0] as object);
/** Rows without a column. */
const without = (name: string, rows: readonly Record<string, unknown>[]) =>
  rows.map((row) => Object.fromEntries(Object.entries(row).filter(([one]) => one !== name)));

test.each([
  ["an array", BARS],
  ["an object of arrays", columnsOf(BARS)],
  ["data within an object", { status: undefined, data: BARS }],
  ["the split form of pandas", { columns: NAMES, data: BARS.map((bar) => Object.values(bar)) }],
  [
    "a map from dates to records",
    Object.fromEntries(without("date", BARS).map((row, i) => [BARS[i]?.date, row])),
  ],
  [
    "a map of columns",
    Object.fromEntries(
      NAMES.filter((name) => name !== "date").map((name) => [
        name,
        Object.fromEntries(BARS.map((bar) => [bar.date, (bar as Record<string, unknown>)[name]])),
      ]),
    ),
  ],
  ["the table form of pandas", { schema: { fields: [{ name: "date", type: "string" }] }, data: BARS }],
])("%s has the rows", (_, document) => {
  expect(recordsIn(JSON.parse(JSON.stringify(document)))).toEqual(AS_TEXT);
});

test("keys of maps and members beside a table are the same for all of its rows", () => {
  const two = AS_TEXT.map((row) => ({ symbol: "AAPL.US", ...row }));
  expect(recordsIn({ "AAPL.US": BARS })).toEqual(two);
  expect(recordsIn({ data: { "AAPL.US": columnsOf(BARS) } })).toEqual(two);
  expect(recordsIn([{ symbol: "AAPL.US", bars: BARS }])).toEqual(two);
  expect(recordsIn({ meta: { symbol: "AAPL.US" }, values: BARS })).toEqual(two);
  expect(recordsIn({ ticker: "AAPL", results: BARS })).toEqual(
    AS_TEXT.map((row) => ({ ticker: "AAPL", ...row })),
  );
});

test("what an object beside a table says about a row's own fields is not taken", () => {
  const rows = recordsIn({
    meta: { symbol: "X.US", close: 1, currency: "USD" },
    values: without("close", BARS),
  });
  expect(rows).toEqual(without("close", AS_TEXT).map((row) => ({ symbol: "X.US", currency: "USD", ...row })));
});

test("arrays of one table that differ in length are no table", () => {
  expect(() => recordsIn({ ...columnsOf(BARS), open: [1] })).toThrow(/different lengths: date 2, open 1/);
});

test("a document without a table has no rows", () => {
  for (const document of [
    null,
    5,
    "text",
    [],
    {},
    [1, 2],
    { status: "error" },
    { data: { message: "limit" } },
  ])
    expect(recordsIn(document)).toEqual([]);
});

test("no document throws but for lengths, and each row is flat", () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), fc.constantFrom(...KNOWN), (value, name) => {
      for (const document of [value, { [name]: value, close: value }, [value, { [name]: value }]]) {
        try {
          for (const row of recordsIn(document))
            for (const [column, text] of Object.entries(row)) {
              expect(plainName(column)).toBeTypeOf("string");
              expect(text === null || typeof text === "string").toBe(true);
            }
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }
    }),
    { numRuns: cases({ few: 200, all: 10_000 }) },
  );
});
