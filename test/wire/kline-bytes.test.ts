import fc from "fast-check";
import { expect, test } from "vitest";
import { klineLayout, klinePieces, klinesOf } from "../../src/wire/kline-bytes.js";
import { DOUBLE_COLUMNS, type KlineColumns } from "../../src/wire/kline-columns.js";
import { anyBars, columnsOf } from "./any-kline-columns.js";

/** Bytes of their own, at an address that 64-bit numbers may have. */
function written(columns: KlineColumns): Uint8Array {
  return new Uint8Array(Buffer.concat([...klinePieces(columns, klineLayout(columns))]));
}

test("bars come back equal, down to nulls and symbols without bars, with a layout that was JSON; columns without a value take no bytes", () => {
  fc.assert(
    fc.property(anyBars, (bars) => {
      const columns = columnsOf(bars);
      const bytes = written(columns);
      const layout = JSON.parse(JSON.stringify(klineLayout(columns)));
      expect(klinesOf(layout, bytes)).toEqual(columns);
      const { rows, doubles } = columns;
      const isEmpty = ({ validity }: (typeof doubles)["open"]): boolean =>
        validity?.every((byte) => byte === 0) === true;
      const present = DOUBLE_COLUMNS.filter((name) => !isEmpty(doubles[name]));
      const partial = present.filter((name) => doubles[name].validity !== undefined);
      expect(bytes.length).toBe(rows * (20 + 8 * present.length) + Math.ceil(rows / 8) * partial.length);
    }),
  );
});

const COLUMNS = columnsOf({
  "A.US": [1, 2, 3].map((timestamp) => ({ timestamp, volume: 1n, open: timestamp / 3 })),
  "B.US": [],
});

test("columns are not copied, neither written nor read, unless their address does not permit it", () => {
  const layout = klineLayout(COLUMNS);
  const memory = new Set([...klinePieces(COLUMNS, layout)].map(({ buffer }) => buffer));
  const { symbolIndex, timestamp, volume, doubles } = COLUMNS;
  for (const array of [symbolIndex, timestamp, volume, doubles.open.values])
    expect(memory.has(array.buffer)).toBe(true);
  const bytes = written(COLUMNS);
  const read = klinesOf(layout, bytes);
  for (const array of [read.symbolIndex, read.timestamp, read.volume, read.doubles.open.values])
    expect(array.buffer).toBe(bytes.buffer);
  const moved = new Uint8Array(bytes.length + 3);
  moved.set(bytes, 3);
  expect(klinesOf(layout, moved.subarray(3))).toEqual(COLUMNS);
});

test("columns that share memory come back equal", () => {
  const all = Float64Array.of(1, 2, 3, 4, 5);
  const [open, high, low] = [0, 0, 2].map((at) => ({
    values: all.subarray(at, at + 3),
    validity: undefined,
  }));
  const shared = { ...COLUMNS, doubles: { ...COLUMNS.doubles, open, high, low } } as KlineColumns;
  expect(klinesOf(klineLayout(shared), written(shared))).toEqual(shared);
});

test.each([-1, 1])("bytes that are %d too many are refused", (more) => {
  const bytes = written(COLUMNS);
  const others = new Uint8Array(bytes.length + more);
  expect(() => klinesOf(klineLayout(COLUMNS), others)).toThrow(/columns of \d+ bytes: there are \d+/);
});
