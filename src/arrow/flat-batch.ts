import {
  Bool,
  type Data,
  DateDay,
  Field,
  Float64,
  Int32,
  Int64,
  RecordBatch,
  Schema,
  Struct,
  TimestampMicrosecond,
  Utf8,
} from "apache-arrow";
import { dataOf } from "./result/column-builder.js";

/** Consecutive rows with the same text. */
export interface TextRun {
  readonly text: string;
  readonly rows: number;
}

/** A column of a record batch in its final layout. `validity` has one bit a row, 1 for a value. @default no row is null */
export type FlatColumn = { readonly name: string; readonly validity?: Uint8Array | undefined } & (
  | { readonly kind: "double"; readonly values: Float64Array }
  | { readonly kind: "int64"; readonly values: BigInt64Array }
  | { readonly kind: "int32"; readonly values: Int32Array }
  /** Days since 1970-01-01. */
  | { readonly kind: "date"; readonly values: Int32Array }
  /** Epoch microseconds, in UTC. */
  | { readonly kind: "timestamp"; readonly values: BigInt64Array }
  /** 0 or 1. */
  | { readonly kind: "boolean"; readonly values: Int32Array }
  | { readonly kind: "text"; readonly runs: readonly TextRun[] }
);

/** Makes a record batch with the Arrow types that a query's result has for the same columns; numbers are not copied. */
export function flatBatch(columns: readonly FlatColumn[], rows: number): RecordBatch {
  const children = columns.map((column) => childOf(column, rows));
  const fields = columns.map(({ name }, at) => new Field(name, (children[at] as Data).type, true));
  const struct = dataOf({ type: new Struct(fields), length: rows, children });
  return new RecordBatch(new Schema(fields), struct);
}

function childOf(column: FlatColumn, length: number): Data {
  const shared = { length, nullBitmap: column.validity ?? null };
  switch (column.kind) {
    case "double":
      return dataOf({ type: new Float64(), data: column.values, ...shared });
    case "int64":
      return dataOf({ type: new Int64(), data: column.values, ...shared });
    case "int32":
      return dataOf({ type: new Int32(), data: column.values, ...shared });
    case "date":
      return dataOf({ type: new DateDay(), data: column.values, ...shared });
    case "timestamp":
      return dataOf({ type: new TimestampMicrosecond("UTC"), data: column.values, ...shared });
    case "boolean":
      return dataOf({ type: new Bool(), data: packed(column.values, length), ...shared });
    case "text":
      return dataOf({ type: new Utf8(), ...repeated(column.runs, length), ...shared });
  }
}

function packed(values: Int32Array, length: number): Uint8Array {
  const bits = new Uint8Array(Math.ceil(length / 64) * 8);
  for (let row = 0; row < length; row++)
    bits[row >> 3] = (bits[row >> 3] as number) | ((values[row] as number) << (row & 7));
  return bits;
}

/** The texts of runs one after the other, and where each row's ends. */
function repeated(
  runs: readonly TextRun[],
  length: number,
): { readonly valueOffsets: Int32Array; readonly data: Uint8Array } {
  const texts = runs.map(({ text }) => Buffer.from(text));
  const data = new Uint8Array(
    runs.reduce((sum, { rows }, at) => sum + rows * (texts[at] as Buffer).length, 0),
  );
  const valueOffsets = new Int32Array(length + 1);
  let [row, end] = [0, 0];
  for (const [at, { rows }] of runs.entries()) {
    const text = texts[at] as Buffer;
    const start = end;
    for (let n = 0; n < rows; n++) {
      end += text.length;
      valueOffsets[++row] = end;
    }
    if (rows === 0) continue;
    data.set(text, start);
    // Each copy doubles what is there.
    for (let filled = text.length; filled < end - start; filled *= 2)
      data.copyWithin(start + filled, start, Math.min(start + filled, end - filled));
  }
  return { valueOffsets, data };
}
