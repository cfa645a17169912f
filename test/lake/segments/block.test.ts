import fc from "fast-check";
import { expect, test } from "vitest";
import { isPresent } from "../../../src/core/bits.js";
import {
  BLOCK_COLUMNS,
  type ColumnValues,
  columnOffsets,
  encodeBlock,
  mostBytes,
  TargetColumn,
} from "../../../src/lake/segments/block.js";

/** A block in which each column has the same byte in all values, or nulls only. */
function blockOf(rows: number, byte: number | null): { block: Uint8Array; offsets: readonly number[] } {
  const columns = BLOCK_COLUMNS.map(
    ({ width }): ColumnValues => ({
      // Different values: equal ones would be written as one.
      bytes: new Uint8Array(rows * width).map((_, at) => (at % 251) + (byte ?? 7)),
      validity: new Uint8Array(Math.ceil(rows / 8)),
      hasNulls: byte === null,
    }),
  );
  const block = new Uint8Array(mostBytes(rows));
  const length = encodeBlock(columns, rows, block);
  return { block, offsets: columnOffsets(block.subarray(0, length), rows) };
}

test("a column of a result has the values of its blocks, and zeros without a value for nulls, however many rows were expected", () => {
  const anyBlocks = fc.array(
    fc.record({ rows: fc.integer({ min: 1, max: 40 }), byte: fc.option(fc.integer({ min: 1, max: 4 })) }),
    { maxLength: 6 },
  );
  fc.assert(
    fc.property(
      anyBlocks,
      fc.nat(100),
      fc.nat(BLOCK_COLUMNS.length - 1),
      fc.gen(),
      (blocks, expected, index, draw) => {
        const width = BLOCK_COLUMNS[index]?.width as number;
        const target = new TargetColumn(index, expected);
        const [bytes, present]: [number[], boolean[]] = [[], []];
        for (const { rows, byte } of blocks) {
          const { block, offsets } = blockOf(rows, byte);
          const from = draw(fc.nat, rows - 1);
          const count = draw(fc.nat, rows - from);
          target.take(block, offsets[index] as number, rows, { from, count, at: present.length });
          for (let at = from * width; at < (from + count) * width; at++)
            bytes.push(byte === null ? 0 : ((at % 251) + byte) & 0xff);
          for (let row = 0; row < count; row++) present.push(byte !== null);
        }
        const rows = present.length;
        target.end(rows);
        expect([...new Uint8Array(target.buffer, 0, rows * width)]).toEqual(bytes);
        expect(present.map((_, row) => isPresent(target.validity, row))).toEqual(present);
      },
    ),
  );
});

test("a column without a value takes no memory until the end", () => {
  const { block, offsets } = blockOf(4096, null);
  const target = new TargetColumn(0, 1_000_000);
  target.take(block, offsets[0] as number, 4096, { from: 0, count: 4096, at: 0 });
  expect(target.buffer.byteLength).toBe(0);
});
