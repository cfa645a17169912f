import fc from "fast-check";
import { expect, test } from "vitest";
import type { ResultRows } from "../../../src/arrow/scan/result-columns.js";
import { findRuns, newCellRuns, scatterAdjusted } from "../../../src/dataset/cells/daily-cells.js";

const LABELS = 6;
const FIRST_DAY = 100;
/** One day between the labels is no session. */
const LABEL_OF_DAY = Int32Array.of(0, 1, 2, -1, 3, 4, 5);
const TRADED = 4;

/** A row: its symbol, day, which may be before the first label or after the last one, whether something traded or is null, factor, and value or null. */
const row = fc.record({
  symbol: fc.integer({ min: -1, max: 3 }),
  day: fc.integer({ min: -1, max: LABEL_OF_DAY.length }),
  traded: fc.constantFrom(true, true, true, false, undefined),
  factor: fc.constantFrom(1, 1, 1, 1.25),
  value: fc.option(fc.double({ noNaN: true }), { freq: 8 }),
});
/** Rows of a lake: mostly a symbol's days in order; any others must be placed as well. */
const inOrder = fc
  .array(row, { maxLength: 40 })
  .map((rows) => rows.sort((a, b) => a.symbol - b.symbol || a.day - b.day));

test.each(["none", "times", "over"] as const)("runs place what each row alone would: %s", (kind) => {
  fc.assert(
    fc.property(fc.oneof(inOrder, fc.array(row, { maxLength: 40 })), fc.boolean(), (rows, hasNulls) => {
      const bits = (isOne: (at: number) => boolean): Uint8Array => {
        const made = new Uint8Array(8);
        for (const at of rows.keys()) if (isOne(at)) made[at >> 3] = (made[at >> 3] ?? 0) | (1 << (at & 7));
        return made;
      };
      const result = {
        rows: rows.length,
        values: (column: number) =>
          column === TRADED
            ? Uint8Array.from(rows, ({ traded }) => Number(traded !== false))
            : Int32Array.from(rows, ({ day }) => day + FIRST_DAY),
        validity: () => bits((at) => rows[at]?.traded !== undefined),
      } as unknown as ResultRows;
      const values = Float64Array.from(rows, ({ value }) => value ?? 0);
      const runs = newCellRuns();
      const marks = new Uint8Array(4 * LABELS);
      const cells = new Float64Array(4 * LABELS).fill(-1);
      const of = {
        symbols: Int32Array.from(rows, ({ symbol }) => symbol),
        factors: Float64Array.from(rows, ({ factor }) => factor),
      };
      const places = { labelOfDay: LABEL_OF_DAY, firstDay: FIRST_DAY, since: 0, width: LABELS };
      findRuns(result, TRADED, of, places, runs, marks);
      const validity = hasNulls ? bits((at) => rows[at]?.value !== null) : undefined;
      scatterAdjusted({ values, validity }, kind, runs, cells);

      const [expectedMarks, expected] = [new Uint8Array(4 * LABELS), new Float64Array(4 * LABELS).fill(-1)];
      for (const [at, { symbol, day, traded, factor, value }] of rows.entries()) {
        const label = LABEL_OF_DAY[day] ?? -1;
        if (symbol < 0 || label < 0 || traded !== true) continue;
        const plain = hasNulls && value === null ? Number.NaN : (values[at] as number);
        const adjusted = { none: plain, times: plain * factor, over: plain / factor }[kind];
        expectedMarks[symbol * LABELS + label] = 1;
        expected[symbol * LABELS + label] = adjusted;
      }
      expect(marks).toEqual(expectedMarks);
      expect(cells).toEqual(expected);
      // Volumes are computed with the lot of a run's symbol.
      for (let run = 0; run < runs.count; run++)
        expect(of.symbols.subarray(runs.start[run], runs.end[run]).every((s) => s === runs.symbol[run])).toBe(
          true,
        );
    }),
  );
});

test("rows of one symbol and factor on consecutive sessions are one run", () => {
  const day = Int32Array.of(0, 1, 2, 4, 5, 6, 0).map((n) => n + FIRST_DAY);
  const rows = {
    rows: day.length,
    values: (column: number) => (column === TRADED ? new Uint8Array(day.length).fill(1) : day),
    validity: () => undefined,
  } as unknown as ResultRows;
  const runs = newCellRuns();
  const of = { symbols: Int32Array.of(0, 0, 0, 0, 0, 0, 1), factors: Float64Array.of(1, 1, 1, 1, 2, 2, 2) };
  const places = { labelOfDay: LABEL_OF_DAY, firstDay: FIRST_DAY, since: 0, width: LABELS };
  findRuns(rows, TRADED, of, places, runs, new Uint8Array(2 * LABELS));
  const found = Array.from({ length: runs.count }, (_, n) => [
    runs.start[n],
    runs.end[n],
    runs.cell[n],
    runs.factor[n],
  ]);
  expect(found).toEqual([
    [0, 4, 0, 1],
    [4, 6, 4, 2],
    [6, 7, 6, 2],
  ]);
});
