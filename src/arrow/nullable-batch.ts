import { type Data, Field, Float64, Int64, makeData, RecordBatch, Schema, Struct, Utf8 } from "apache-arrow";
import { setBit } from "../core/bits.js";

/** A column of JavaScript's values, of which some are null. */
export type NullableColumn = { readonly name: string } & (
  | { readonly kind: "double"; readonly values: readonly (number | null)[] }
  | { readonly kind: "int64"; readonly values: readonly (bigint | null)[] }
  | { readonly kind: "text"; readonly values: readonly (string | null)[] }
);

/** Makes a record batch of values. */
export function nullableBatch(columns: readonly NullableColumn[], rows: number): RecordBatch {
  const children = columns.map((column) => dataOf(column, rows));
  const fields = columns.map(({ name }, i) => new Field(name, (children[i] as Data).type, true));
  const struct = makeData({ type: new Struct(fields), length: rows, nullCount: 0, children });
  return new RecordBatch(new Schema(fields), struct);
}

function dataOf(column: NullableColumn, length: number): Data {
  const validity = validityOf(column.values, length);
  switch (column.kind) {
    case "double":
      return makeData({
        type: new Float64(),
        length,
        data: Float64Array.from(column.values, (value) => value ?? 0),
        ...validity,
      });
    case "int64":
      return makeData({
        type: new Int64(),
        length,
        data: BigInt64Array.from(column.values, (value) => value ?? 0n),
        ...validity,
      });
    case "text":
      return makeData({ type: new Utf8(), length, ...textBuffers(column.values, length), ...validity });
  }
}

function validityOf(
  values: readonly unknown[],
  length: number,
): { nullBitmap?: Uint8Array; nullCount: number } {
  const nullBitmap = new Uint8Array(Math.ceil(length / 64) * 8);
  let nullCount = 0;
  for (let row = 0; row < length; row++) {
    if (values[row] === null) nullCount++;
    else setBit(nullBitmap, row);
  }
  return nullCount === 0 ? { nullCount } : { nullBitmap, nullCount };
}

function textBuffers(
  values: readonly (string | null)[],
  length: number,
): { valueOffsets: Int32Array; data: Buffer } {
  const valueOffsets = new Int32Array(length + 1);
  const data = Buffer.from(values.map((value) => value ?? "").join(""));
  let end = 0;
  for (let row = 0; row < length; row++) {
    end += Buffer.byteLength(values[row] ?? "");
    valueOffsets[row + 1] = end;
  }
  return { valueOffsets, data };
}
