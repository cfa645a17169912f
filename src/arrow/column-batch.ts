import {
  type Vector as ArrowVector,
  Bool,
  type Data,
  type DataType,
  DateDay,
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  makeData,
  makeVector,
  RecordBatch,
  Schema,
  Struct,
  TimestampMicrosecond,
  TimestampMillisecond,
  Utf8,
} from "apache-arrow";
import { putBit } from "../core/bits.js";
import { epochDay, type TradingDate } from "../core/time.js";

/** Consecutive rows with the same text. */
export interface TextRun {
  readonly text: string;
  readonly rows: number;
}

type Nullable<T> = readonly (T | null)[];

/**
 * A column of a record batch: a typed array, which is not copied except for booleans and where NaN becomes null, or a
 * list of values, null where there is none.
 */
export type BatchColumn = {
  readonly name: string;
  /** Of a typed array: one bit a row, 1 for a value. @default no row is null */
  readonly validity?: Uint8Array | undefined;
  /** Whether the schema excludes nulls. @default false */
  readonly isRequired?: boolean;
  /** The unit of the values, for the field's metadata. */
  readonly unit?: string | undefined;
} & (
  | {
      readonly kind: "double";
      readonly values: Float64Array | Nullable<number>;
      readonly nanIsNull?: boolean;
    }
  | { readonly kind: "int64"; readonly values: BigInt64Array | Nullable<bigint> }
  | { readonly kind: "int32"; readonly values: Int32Array }
  /** A typed array has days since 1970-01-01. */
  | { readonly kind: "date"; readonly values: Int32Array | Nullable<TradingDate> }
  /** Since 1970-01-01, in UTC. */
  | { readonly kind: "milliseconds" | "microseconds"; readonly values: BigInt64Array | Nullable<bigint> }
  /** 0 or 1. */
  | { readonly kind: "boolean"; readonly values: Uint8Array | Int32Array }
  | { readonly kind: "text"; readonly values: Nullable<string> }
  | { readonly kind: "runs"; readonly runs: readonly TextRun[] }
  /** Indexes of words, which {@link wordList} makes: the same words in each batch of a stream. */
  | {
      readonly kind: "word";
      readonly values: Int32Array | Nullable<number>;
      readonly words: ArrowVector<Utf8>;
    }
);

export function wordList(words: readonly string[]): ArrowVector<Utf8> {
  return makeVector(dataOf({ type: new Utf8(), length: words.length, ...textBuffers(words, words.length) }));
}

/** Makes a record batch of columns. @param metadata of the schema. */
export function columnBatch(
  columns: readonly BatchColumn[],
  rows: number,
  metadata?: ReadonlyMap<string, string>,
): RecordBatch {
  const children = columns.map((column) =>
    dataOf({ length: rows, nullBitmap: validityOf(column, rows), ...valuesOf(column, rows) }),
  );
  const fields = columns.map(({ name, isRequired = false, unit }, at) => {
    const described = unit === undefined ? undefined : new Map([["unit", unit]]);
    return new Field(name, (children[at] as Data).type, !isRequired, described);
  });
  const struct = dataOf({ type: new Struct(fields), length: rows, children });
  return new RecordBatch(new Schema(fields, metadata && new Map(metadata)), struct);
}

/** The buffers of a column, by the names that {@link makeData} uses. */
interface Buffers<T extends DataType> {
  readonly type: T;
  readonly length: number;
  readonly nullBitmap?: Uint8Array | null;
  readonly data?: ArrayBufferView;
  readonly valueOffsets?: Int32Array;
  readonly child?: Data;
  readonly children?: readonly Data[];
  readonly dictionary?: ArrowVector | undefined;
}

/** Calls {@link makeData}, which is declared for each type separately, for a column of any type. */
export function dataOf<T extends DataType>(buffers: Buffers<T>): Data<T> {
  return (makeData as unknown as (props: Buffers<T>) => Data<T>)(buffers);
}

function valuesOf(column: BatchColumn, length: number): Omit<Buffers<DataType>, "length" | "nullBitmap"> {
  switch (column.kind) {
    case "double": {
      const { values } = column;
      const data = isTyped(values) ? values : Float64Array.from(values, (value) => value ?? 0);
      return { type: new Float64(), data };
    }
    case "int64":
      return { type: new Int64(), data: bigints(column.values) };
    case "int32":
      return { type: new Int32(), data: column.values };
    case "date": {
      const { values } = column;
      const dayOf = (value: TradingDate | null): number => (value === null ? 0 : epochDay(value));
      return { type: new DateDay(), data: isTyped(values) ? values : Int32Array.from(values, dayOf) };
    }
    case "milliseconds":
      return { type: new TimestampMillisecond("UTC"), data: bigints(column.values) };
    case "microseconds":
      return { type: new TimestampMicrosecond("UTC"), data: bigints(column.values) };
    case "boolean":
      return { type: new Bool(), data: packed(column.values, length) };
    case "text":
      return { type: new Utf8(), ...textBuffers(column.values, length) };
    case "runs":
      return { type: new Utf8(), ...repeated(column.runs, length) };
    case "word": {
      const { values, words } = column;
      const data = isTyped(values) ? values : Int32Array.from(values, (value) => value ?? 0);
      return { type: new Dictionary(new Utf8(), new Int32(), 0), data, dictionary: words };
    }
  }
}

function isTyped<T extends ArrayBufferView>(values: T | readonly unknown[]): values is T {
  return ArrayBuffer.isView(values);
}

function bigints(values: BigInt64Array | Nullable<bigint>): BigInt64Array {
  return isTyped(values) ? values : BigInt64Array.from(values, (value) => value ?? 0n);
}

/** Null where each row has a value. */
function validityOf(column: BatchColumn, length: number): Uint8Array | null {
  if (column.validity !== undefined) return column.validity;
  if (column.kind === "runs") return null;
  const { values } = column;
  if (!isTyped<ArrayBufferView>(values)) {
    const presence = values.map((value) => (value === null ? 0 : 1));
    return presence.includes(0) ? packed(presence, length) : null;
  }
  return column.kind === "double" && column.nanIsNull === true
    ? present(values as Float64Array, length)
    : null;
}

/** Which values are not NaN; null if none is. */
function present(values: Float64Array, length: number): Uint8Array | null {
  let row = 0;
  while (row < length && !Number.isNaN(values[row])) row++;
  if (row === length) return null;
  const bits = new Uint8Array(Math.ceil(length / 64) * 8).fill(0xff);
  for (; row < length; row++) if (Number.isNaN(values[row])) putBit(bits, row, false);
  return bits;
}

/** Zeros and ones as bits, in whole 64-bit words. */
function packed(values: ArrayLike<number>, length: number): Uint8Array {
  const bits = new Uint8Array(Math.ceil(length / 64) * 8);
  for (let row = 0; row < length; row++)
    bits[row >> 3] = (bits[row >> 3] as number) | ((values[row] as number) << (row & 7));
  return bits;
}

type TextBuffers = { readonly valueOffsets: Int32Array; readonly data: Uint8Array };

function textBuffers(values: Nullable<string>, length: number): TextBuffers {
  const valueOffsets = new Int32Array(length + 1);
  const data = Buffer.from(values.map((value) => value ?? "").join(""));
  let end = 0;
  for (let row = 0; row < length; row++) {
    end += Buffer.byteLength(values[row] ?? "");
    valueOffsets[row + 1] = end;
  }
  return { valueOffsets, data };
}

function repeated(runs: readonly TextRun[], length: number): TextBuffers {
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
