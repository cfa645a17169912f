import {
  type Data,
  DateDay,
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  TimestampMillisecond,
  Utf8,
  type Vector,
} from "apache-arrow";
import { setBit } from "../core/bits.js";
import { epochDay, type TradingDate } from "../core/time.js";

/** A column of JavaScript's values, of which some are null. */
export type NullableColumn = {
  readonly name: string;
  /** Whether the schema excludes nulls. @default false */
  readonly isRequired?: boolean;
  /** The unit of the values, for the field's metadata. */
  readonly unit?: string | undefined;
} & (
  | { readonly kind: "double"; readonly values: readonly (number | null)[] }
  | { readonly kind: "int64"; readonly values: readonly (bigint | null)[] }
  | { readonly kind: "text"; readonly values: readonly (string | null)[] }
  | { readonly kind: "date"; readonly values: readonly (TradingDate | null)[] }
  /** Epoch milliseconds, in UTC. */
  | { readonly kind: "timestamp"; readonly values: readonly (bigint | null)[] }
  /** Indexes of words, which `wordList` makes: the same words in each batch of a stream. */
  | { readonly kind: "word"; readonly values: readonly (number | null)[]; readonly words: Vector<Utf8> }
);

/** Makes a record batch of values. @param metadata of the schema. */
export function nullableBatch(
  columns: readonly NullableColumn[],
  rows: number,
  metadata?: ReadonlyMap<string, string>,
): RecordBatch {
  const children = columns.map((column) => dataOf(column, rows));
  const fields = columns.map(({ name, isRequired = false, unit }, i) => {
    const described = unit === undefined ? undefined : new Map([["unit", unit]]);
    return new Field(name, (children[i] as Data).type, !isRequired, described);
  });
  const struct = makeData({ type: new Struct(fields), length: rows, nullCount: 0, children });
  return new RecordBatch(new Schema(fields, metadata && new Map(metadata)), struct);
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
    case "date":
      return makeData({
        type: new DateDay(),
        length,
        data: Int32Array.from(column.values, (value) => (value === null ? 0 : epochDay(value))),
        ...validity,
      });
    case "timestamp":
      return makeData({
        type: new TimestampMillisecond("UTC"),
        length,
        data: BigInt64Array.from(column.values, (value) => value ?? 0n),
        ...validity,
      });
    case "word":
      return makeData({
        type: new Dictionary(new Utf8(), new Int32(), 0),
        length,
        data: Int32Array.from(column.values, (value) => value ?? 0),
        dictionary: column.words,
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
