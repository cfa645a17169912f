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
import type { Column } from "../schema/column.js";
import { INSTRUMENT_EXT } from "../schema/reference.js";
import type { Instrument } from "../wire/resources.js";

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

/**
 * Makes one record batch of objects with declared columns. A value that is absent is null; a timestamp is epoch
 * milliseconds. A text that is no date is null in a column of dates.
 */
export function recordBatch(
  columns: readonly Column[],
  rows: readonly Readonly<Record<string, unknown>>[],
): RecordBatch {
  return nullableBatch(
    columns.map((column) => columnOf(column, rows)),
    rows.length,
  );
}

function columnOf(
  { name, type, unit, nullable }: Column,
  rows: readonly Readonly<Record<string, unknown>>[],
): NullableColumn {
  const described = { name, isRequired: nullable !== true, unit };
  const values = rows.map((row) => row[name] ?? null);
  const integers = (): (bigint | null)[] =>
    values.map((value) => (value === null ? null : BigInt(value as number)));
  switch (type) {
    case "double":
      return { ...described, kind: "double", values: values as (number | null)[] };
    case "int32":
    case "int64":
      return { ...described, kind: "int64", values: integers() };
    case "timestamp":
      return { ...described, kind: "timestamp", values: integers() };
    case "date":
      return { ...described, kind: "date", values: values.map(dateOf) };
    case "string":
      return { ...described, kind: "text", values: values as (string | null)[] };
    case "boolean":
    case "string[]":
      return {
        ...described,
        kind: "text",
        values: values.map((value) => (value === null ? null : JSON.stringify(value))),
      };
  }
}

function dateOf(value: unknown): TradingDate | null {
  const isDate = typeof value === "string" && Number.isInteger(epochDay(value as TradingDate));
  return isDate ? (value as TradingDate) : null;
}

const REQUIRED = ["symbol", "code", "exchange", "region", "type"] as const;
const EXT_NAMES: ReadonlySet<string> = new Set(["type", ...INSTRUMENT_EXT.map(({ name }) => name)]);

/**
 * Instruments as one record batch: the members of an instrument, and those of its `ext` that the schema declares, each
 * as a column; `ext_type`; and `ext_other` with the other members as JSON text.
 */
export function instrumentBatch(
  instruments: readonly Instrument[],
  metadata: ReadonlyMap<string, string>,
): RecordBatch {
  const exts = instruments.map(({ ext }) => (ext ?? {}) as Readonly<Record<string, unknown>>);
  const extColumns = INSTRUMENT_EXT.map(({ name, type, unit }): NullableColumn => {
    const values = exts.map((ext) => ext[name] ?? null);
    if (type === "double") return { name, unit, kind: "double", values: values as (number | null)[] };
    if (type === "date") return { name, kind: "date", values: values as (TradingDate | null)[] };
    return { name, kind: "text", values: values as (string | null)[] };
  });
  const columns: NullableColumn[] = [
    ...REQUIRED.map(
      (name): NullableColumn => ({
        name,
        kind: "text",
        isRequired: true,
        values: instruments.map((one) => one[name]),
      }),
    ),
    { name: "name", kind: "text", values: instruments.map(({ name }) => name ?? null) },
    { name: "ext_type", kind: "text", values: instruments.map(({ ext }) => ext?.type ?? null) },
    ...extColumns,
    { name: "ext_other", kind: "text", values: exts.map(otherMembers) },
  ];
  return nullableBatch(columns, instruments.length, metadata);
}

function otherMembers(ext: Readonly<Record<string, unknown>>): string | null {
  const others = Object.entries(ext).filter(([name]) => !EXT_NAMES.has(name));
  return others.length === 0 ? null : JSON.stringify(Object.fromEntries(others));
}
