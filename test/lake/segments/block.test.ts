import { expect, test } from "vitest";
import {
  BLOCK_COLUMNS,
  type ColumnValues,
  columnOffsets,
  encodeBlock,
  mostBytes,
  TargetColumn,
} from "../../../src/lake/segments/block.js";

test("a column of a result has zeros where a block has nulls only, over any content of its memory", () => {
  const rows = 4096;
  const columns = BLOCK_COLUMNS.map(
    ({ width }): ColumnValues => ({
      bytes: new Uint8Array(rows * width).fill(7),
      validity: new Uint8Array(rows / 8),
      hasNulls: true,
    }),
  );
  const block = new Uint8Array(mostBytes(rows));
  const length = encodeBlock(columns, rows, block);
  const offsets = columnOffsets(block.subarray(0, length), rows);
  for (const index of BLOCK_COLUMNS.keys())
    for (let n = 0; n < 20; n++) {
      const target = new TargetColumn(index, rows);
      new Uint8Array(target.buffer).fill(0xff);
      target.take(block, offsets[index] as number, rows, { from: 0, count: rows, at: 0 });
      expect(new Uint8Array(target.buffer).every((byte) => byte === 0)).toBe(true);
      expect(target.validity?.every((byte) => byte === 0)).toBe(true);
    }
});
