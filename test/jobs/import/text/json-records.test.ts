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
const columnsOf = (rows: readonly Record<string, unknown>[]): Record<string, unknown[]> =>
  Object.fromEntries(Object.keys(rows[0] ?? {}).map((name) => [name, rows.map((row) => row[name])]));

test("arrays of one table that differ in length are no table", () => {
  expect(() => recordsIn({ ...columnsOf(BARS), open: [1] })).toThrow(/different lengths: date 2, open 1/);
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
