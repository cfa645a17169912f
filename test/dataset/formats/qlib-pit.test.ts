import fc from "fast-check";
import { expect, test } from "vitest";
import { type PitFiles, pitFiles } from "../../../src/dataset/formats/qlib.js";

interface Version {
  readonly date: number;
  readonly period: number;
  readonly value: number;
}

function filesOf(versions: readonly Version[]): PitFiles {
  return pitFiles({
    dates: Int32Array.from(versions, ({ date }) => date),
    periods: Int32Array.from(versions, ({ period }) => period),
    values: Float64Array.from(versions, ({ value }) => value),
  });
}

test("the bytes are those of qlib's format", () => {
  const { data, index } = filesOf([
    { date: 20250430, period: 202404, value: 1.5 },
    { date: 20250430, period: 202501, value: -2 },
    { date: 20250601, period: 202404, value: Number.NaN },
  ]);
  const record = (date: number, period: number, value: number, next: number): Buffer => {
    const bytes = Buffer.alloc(20);
    bytes.writeUInt32LE(date, 0);
    bytes.writeUInt32LE(period, 4);
    bytes.writeDoubleLE(value, 8);
    bytes.writeUInt32LE(next, 16);
    return bytes;
  };
  const none = 0xffffffff;
  expect(Buffer.from(data)).toEqual(
    Buffer.concat([
      record(20250430, 202404, 1.5, 40),
      record(20250430, 202501, -2, none),
      record(20250601, 202404, Number.NaN, none),
    ]),
  );
  // The first year, then its four quarters and those of the next one.
  expect([...new Uint32Array(index.buffer)]).toEqual([2024, none, none, none, 0, 20, none, none, none]);
});

/** Reads as qlib does (qlib/utils, `read_period_data`): along a period's versions up to a date. */
function readAsQlib({ data, index }: PitFiles, period: number, date: number): number {
  const [records, offsets] = [new DataView(data.buffer), new DataView(index.buffer)];
  const quarter = (Math.floor(period / 100) - offsets.getUint32(0, true)) * 4 + (period % 100) - 1;
  let value = Number.NaN;
  let at = offsets.getUint32(4 + quarter * 4, true);
  while (at !== 0xffffffff && records.getUint32(at, true) <= date) {
    expect(records.getUint32(at + 4, true)).toBe(period);
    value = records.getFloat64(at + 8, true);
    at = records.getUint32(at + 16, true);
  }
  return value;
}

test("the newest version of a period that was known by a date is what is read", () => {
  const version = fc.record({
    date: fc.integer({ min: 20250101, max: 20250131 }),
    period: fc
      .tuple(fc.integer({ min: 1999, max: 2003 }), fc.integer({ min: 1, max: 4 }))
      .map(([year, quarter]) => year * 100 + quarter),
    value: fc.double(),
  });
  fc.assert(
    fc.property(fc.array(version, { minLength: 1, maxLength: 40 }), (unsorted) => {
      const versions = unsorted.sort((a, b) => a.date - b.date);
      const files = filesOf(versions);
      for (const { period } of versions) {
        for (let date = 20250100; date <= 20250131; date++) {
          const known = versions.filter((one) => one.period === period && one.date <= date);
          expect(readAsQlib(files, period, date)).toBe(known.at(-1)?.value ?? Number.NaN);
        }
      }
    }),
    { numRuns: 30 },
  );
});
