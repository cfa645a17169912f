import fc from "fast-check";
import { expect, test } from "vitest";
import { isPresent } from "../../../../src/core/bits.js";
import { copyOf, type GrowingRun, RunBlocks } from "../../../../src/serve/klines/bar-cache.js";
import type { BarRun } from "../../../../src/serve/klines/bar-runs.js";
import { extendedRun } from "../../../../src/serve/klines/bring-forward.js";
import { DOUBLE_COLUMNS, type KlineValues } from "../../../../src/wire/kline-columns.js";

type Row = readonly [timestamp: number, ...doubles: (number | null)[]];

/** Rows as a query gives them: between those of others. */
function runOf(rows: readonly Row[]): BarRun {
  const all: readonly Row[] = [[-1, 7, null], ...rows, [1e6, null, 8]];
  const doubles = DOUBLE_COLUMNS.map((name, n) => {
    const validity = new Uint8Array(Math.ceil(all.length / 8));
    for (const [at, row] of all.entries())
      if (typeof row[n + 1] === "number") validity[at >> 3] = (validity[at >> 3] as number) | (1 << (at & 7));
    const isWhole = all.every((row) => typeof row[n + 1] === "number");
    const values = Float64Array.from(all, (row) => row[n + 1] ?? 0);
    return [name, { values, validity: isWhole ? undefined : validity }];
  });
  const integers = BigInt64Array.from(all, ([timestamp]) => BigInt(timestamp));
  const values = {
    timestamp: integers,
    volume: integers,
    doubles: Object.fromEntries(doubles),
  } as KlineValues;
  return { symbol: "A.US", values, start: 1, end: rows.length + 1, found: rows.length };
}

function rowsOf({ values, start, end }: BarRun): Row[] {
  return Array.from({ length: end - start }, (_, k) => [
    Number(values.timestamp[start + k]),
    ...DOUBLE_COLUMNS.map((name) => {
      const column = values.doubles[name];
      return isPresent(column.validity, start + k) ? (column.values[start + k] as number) : null;
    }),
  ]);
}

test("later rows are appended, and no run that others read changes", () => {
  const doubles = fc.array(fc.option(fc.double({ noNaN: true })), { minLength: 8, maxLength: 8 });
  const part = fc.array(doubles, { maxLength: 5 });
  const steps = fc.array(fc.record({ from: fc.nat(), rows: part }), { maxLength: 20 });
  fc.assert(
    fc.property(part, steps, fc.nat({ max: 8 }), (first, more, runs) => {
      const timed = (part_: readonly (number | null)[][], from: number): Row[] =>
        part_.map((row, n) => [from + n, ...row]);
      const known: { readonly run: GrowingRun; readonly rows: readonly Row[] }[] = [];
      // The runs may share columns.
      const blocks = new RunBlocks(runs);
      const begun = timed(first, 0);
      known.push({ run: copyOf(runOf(begun), blocks), rows: begun });
      for (const { from, rows } of more) {
        // Any earlier version may be extended, also one that was before.
        const one = known[from % known.length] as (typeof known)[number];
        const later = timed(rows, (one.rows.at(-1)?.[0] ?? -1) + 1);
        const run = extendedRun(one.run, runOf(later), blocks) as GrowingRun;
        known.push({ run, rows: [...one.rows, ...later] });
      }
      for (const { run, rows } of known) expect(rowsOf(run)).toEqual(rows);
    }),
  );
});

test("rows that are not later are not appended", () => {
  const run = runOf([[5, ...Array.from({ length: 8 }, () => 1)]]);
  expect(extendedRun(run, run)).toBeUndefined();
});
