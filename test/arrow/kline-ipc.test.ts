import { Table, tableFromArrays, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { expect, test } from "vitest";
import { klineBatch, klinesFromIpc } from "../../src/arrow/kline-ipc.js";
import type { DoubleColumn, KlineColumns } from "../../src/wire/kline-columns.js";
import { anyBars, columnsOf } from "../wire/any-kline-columns.js";

/** The file of an earlier version: columns without a value were left out. */
function written(columns: KlineColumns): Uint8Array {
  const table = new Table([klineBatch(columns)]);
  const isLeftOut = (name: string): boolean =>
    columns.rows > 0 && columns.doubles[name as DoubleColumn]?.validity?.every((byte) => byte === 0) === true;
  // Bytes of their own, at an address that 64-bit numbers may have.
  return new Uint8Array(
    tableToIPC(table.select(table.schema.names.filter((name) => !isLeftOut(name as string))), "file"),
  );
}

test("bars come back equal, down to nulls, columns without a value and symbols without bars", () => {
  fc.assert(
    fc.property(anyBars, (bars) => {
      const columns = columnsOf(bars);
      expect(klinesFromIpc(written(columns))).toEqual(columns);
    }),
  );
});

const COLUMNS = columnsOf({
  "A.US": [1, 2, 3].map((timestamp) => ({ timestamp, volume: 1n, open: timestamp / 3 })),
  "B.US": [],
});
const BATCH = klineBatch(COLUMNS);

test("a file with all columns is read", () => {
  const bytes = tableToIPC(new Table([BATCH]), "file");
  expect(klinesFromIpc(bytes)).toEqual(COLUMNS);
});

test("columns that are read are not copied", () => {
  const bytes = written(COLUMNS);
  const { symbolIndex, timestamp, volume, doubles } = klinesFromIpc(bytes);
  for (const array of [symbolIndex, timestamp, volume, doubles.open.values])
    expect(array.buffer).toBe(bytes.buffer);
});

test.each([
  ["no Arrow", new Uint8Array(100).fill(7), /bytes cannot be read as Arrow IPC/],
  [
    "a column of another type",
    tableToIPC(tableFromArrays({ open: Int32Array.of(1) }), "file"),
    /column open: is not as it was written/,
  ],
  [
    "a missing column",
    tableToIPC(new Table([BATCH]).select(["symbol", "timestamp", "open"]), "file"),
    /column (high|volume): is not as it was written/,
  ],
  [
    "several batches",
    tableToIPC(new Table([BATCH.slice(0, 1), BATCH.slice(1)]), "file"),
    /column open: is not as it was written/,
  ],
])("%s is refused", (_, bytes, message) => {
  expect(() => klinesFromIpc(bytes)).toThrow(message);
});
