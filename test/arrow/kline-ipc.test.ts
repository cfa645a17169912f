import { Table, tableFromArrays, tableFromIPC, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { expect, test } from "vitest";
import { klineBatch, klinesFromIpc, klinesToIpcPieces } from "../../src/arrow/kline-ipc.js";
import type { KlineColumns } from "../../src/wire/kline-columns.js";
import { anyBars, columnsOf } from "../wire/any-kline-columns.js";

async function written(columns: KlineColumns): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of klinesToIpcPieces(columns)) pieces.push(piece);
  // Bytes of their own, at an address that 64-bit numbers may have.
  return new Uint8Array(Buffer.concat(pieces));
}

const isPresent = (validity: Uint8Array, row: number): boolean =>
  ((validity[row >> 3] as number) & (1 << (row & 7))) !== 0;

test("bars come back equal, down to nulls and symbols without bars; columns without a value are left out", async () => {
  await fc.assert(
    fc.asyncProperty(anyBars, async (bars) => {
      const columns = columnsOf(bars);
      const bytes = await written(columns);
      expect(klinesFromIpc(bytes)).toEqual(columns);
      const names = tableFromIPC(bytes).schema.names;
      for (const [name, { values, validity }] of Object.entries(columns.doubles)) {
        const hasValue =
          columns.rows === 0 || validity === undefined || values.some((_, row) => isPresent(validity, row));
        expect([name, names.includes(name)]).toEqual([name, hasValue]);
      }
    }),
  );
});

const COLUMNS = columnsOf({
  "A.US": [1, 2, 3].map((timestamp) => ({ timestamp, volume: 1n, open: timestamp / 3 })),
  "B.US": [],
});
const BATCH = klineBatch(COLUMNS);

test("a file whose columns all have values, as earlier versions wrote it, is read", () => {
  const bytes = tableToIPC(new Table([BATCH]), "file");
  expect(klinesFromIpc(bytes)).toEqual(COLUMNS);
});

test("columns that are read are not copied", async () => {
  const bytes = await written(COLUMNS);
  const { symbolIndex, timestamp, volume, doubles } = klinesFromIpc(bytes);
  for (const array of [symbolIndex, timestamp, volume, doubles.open.values])
    expect(array.buffer).toBe(bytes.buffer);
});

test.each([
  ["wholly", (all: Float64Array) => [all.subarray(0, 3), all.subarray(0, 3), all.subarray(0, 3)]],
  ["in part", (all: Float64Array) => [all.subarray(0, 3), all.subarray(1, 4), all.subarray(2, 5)]],
] as const)("columns that are %s in the same memory come back equal", async (_, cut) => {
  const [open, high, low] = cut(Float64Array.of(1, 2, 3, 4, 5)).map((values) => ({
    values,
    validity: undefined,
  }));
  const overlapping = { ...COLUMNS, doubles: { ...COLUMNS.doubles, open, high, low } } as KlineColumns;
  expect(klinesFromIpc(await written(overlapping))).toEqual(overlapping);
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
