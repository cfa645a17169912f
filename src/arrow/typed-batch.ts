import {
  Bool,
  type Data,
  DateDay,
  Dictionary,
  Field,
  Float64,
  Int32,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  TimestampMillisecond,
  Utf8,
  type Vector,
  vectorFromArray,
} from "apache-arrow";
import { setBit } from "../core/bits.js";

/** A column of a record batch, in a typed array. */
export type TypedColumn = { readonly name: string } & (
  | { readonly kind: "double"; readonly values: Float64Array; readonly nanIsNull?: boolean }
  /** 0 or 1 per row. */
  | { readonly kind: "boolean"; readonly values: Uint8Array }
  /** Days since 1970-01-01. */
  | { readonly kind: "date"; readonly values: Int32Array }
  /** Epoch milliseconds, in UTC. */
  | { readonly kind: "timestamp"; readonly values: BigInt64Array }
  /** Indexes of words, which {@link wordList} makes. */
  | { readonly kind: "word"; readonly values: Int32Array; readonly words: Vector<Utf8> }
);

/** Words that columns of many batches share. */
export function wordList(words: readonly string[]): Vector<Utf8> {
  return vectorFromArray([...words], new Utf8());
}

/** Makes a record batch of typed arrays without a copy, except for booleans and where NaN becomes null. */
export function typedBatch(columns: readonly TypedColumn[], rows: number): RecordBatch {
  const children = columns.map((column) => dataOf(column, rows));
  const fields = columns.map(({ name }, i) => new Field(name, (children[i] as Data).type, true));
  const struct = makeData({ type: new Struct(fields), length: rows, nullCount: 0, children });
  return new RecordBatch(new Schema(fields), struct);
}

function dataOf(column: TypedColumn, length: number): Data {
  switch (column.kind) {
    case "double": {
      const nulls = column.nanIsNull ? nanBitmap(column.values, length) : undefined;
      return makeData({ type: new Float64(), length, data: column.values, ...(nulls ?? { nullCount: 0 }) });
    }
    case "boolean":
      return makeData({ type: new Bool(), length, nullCount: 0, data: packBits(column.values, length) });
    case "date":
      return makeData({ type: new DateDay(), length, nullCount: 0, data: column.values });
    case "timestamp":
      return makeData({ type: new TimestampMillisecond("UTC"), length, nullCount: 0, data: column.values });
    case "word": {
      const type = new Dictionary(new Utf8(), new Int32(), 0);
      return makeData({ type, length, nullCount: 0, data: column.values, dictionary: column.words });
    }
  }
}

/** Which values are not NaN; undefined if all are. */
function nanBitmap(
  values: Float64Array,
  length: number,
): { nullBitmap: Uint8Array; nullCount: number } | undefined {
  const nullBitmap = new Uint8Array(Math.ceil(length / 64) * 8);
  let nullCount = 0;
  for (let row = 0; row < length; row++) {
    const value = values[row] as number;
    if (Number.isNaN(value)) nullCount++;
    else setBit(nullBitmap, row);
  }
  return nullCount === 0 ? undefined : { nullBitmap, nullCount };
}

function packBits(values: Uint8Array, length: number): Uint8Array {
  const bits = new Uint8Array(Math.ceil(length / 64) * 8);
  for (let row = 0; row < length; row++) {
    if (values[row] !== 0) setBit(bits, row);
  }
  return bits;
}
