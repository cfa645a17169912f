import {
  type Data,
  DataType,
  Dictionary,
  Field,
  Float64,
  Int32,
  Int64,
  makeData,
  Precision,
  RecordBatch,
  RecordBatchFileWriter,
  Schema,
  Struct,
  Table,
  type Timestamp,
  TimestampMillisecond,
  TimeUnit,
  tableFromIPC,
  tableToIPC,
  Utf8,
  Vector,
  vectorFromArray,
} from "apache-arrow";
import { copyBits, isAllNull } from "../core/bits.js";
import { messageOf } from "../core/errors.js";
import { BARS_1D } from "../schema/bars.js";
import { columnOf } from "../schema/column.js";
import { DOUBLE_COLUMNS, type KlineColumns, type NumberColumn } from "../wire/kline-columns.js";

/**
 * Creates one RecordBatch over the buffers of decoded columns; only the dictionary of symbols is copied.
 *
 * Columns: symbol dictionary<int32, utf8>, timestamp timestamp[ms, UTC], the doubles, volume int64.
 */
export function klineBatch(columns: KlineColumns): RecordBatch {
  const { rows, symbols, symbolIndex, timestamp, volume, doubles } = columns;
  const symbolType = new Dictionary(new Utf8(), new Int32(), 0);
  const timestampType = new TimestampMillisecond("UTC");
  const fields: Field[] = [
    new Field("symbol", symbolType, false),
    new Field("timestamp", timestampType, false),
  ];
  const children = [
    makeData({
      type: symbolType,
      length: rows,
      nullCount: 0,
      data: symbolIndex,
      dictionary: vectorFromArray(symbols as string[], new Utf8()),
    }),
    makeData({ type: timestampType, length: rows, nullCount: 0, data: timestamp }),
    ...DOUBLE_COLUMNS.map((name) => {
      const { values, validity } = doubles[name];
      fields.push(new Field(name, new Float64(), columnOf(BARS_1D, name).nullable === true));
      return makeData({ type: new Float64(), length: rows, data: values, nullBitmap: validity ?? null });
    }),
    makeData({ type: new Int64(), length: rows, nullCount: 0, data: volume }),
  ];
  fields.push(new Field("volume", new Int64(), false));
  const schema = new Schema(fields);
  return new RecordBatch(
    schema,
    makeData({ type: new Struct(fields), length: rows, nullCount: 0, children }),
  );
}

/**
 * Reads bars from an uncompressed Arrow IPC file or stream of any writer: the inverse of `klinesToIpc`.
 *
 * Columns are found by name; others are ignored, and a missing nullable column is null in all rows. `symbol` is text or
 * a dictionary of text. `timestamp` has any unit and any zone: with a zone, Arrow stores UTC; without one, there is no
 * instant. Symbols are in the order of their rows; symbols of a dictionary without rows remain.
 *
 * With one record batch, a column of `klineBatch`'s type is not copied: it is a view of `bytes`.
 *
 * @throws {TypeError} for bytes that are no such file. Also, naming the column and the row (from 0, over all batches),
 * for a column that is missing, duplicate, cut short or of another type, a null where none is allowed, a timestamp that
 * is not an int64 of milliseconds, and rows not grouped by symbol or not strictly ascending by timestamp within.
 */
export function klinesFromIpc(bytes: Uint8Array): KlineColumns {
  const table = openTable(bytes);
  const { symbols, symbolIndex } = inRowOrder(readSymbols(chunksOf(table, "symbol", SYMBOL_TYPES, isSymbol)));
  const timestamp = readTimestamps(chunksOf(table, "timestamp", "Timestamp with a zone", isInstant));
  checkAscending(symbolIndex, timestamp);
  const volume = valuesOf(chunksOf(table, "volume", "Int64", isInt64), BigInt64Array);
  const doubles = DOUBLE_COLUMNS.map((name) => [name, readDoubles(table, name)]);
  return {
    rows: table.numRows,
    symbols,
    symbolIndex,
    timestamp,
    volume,
    doubles: Object.fromEntries(doubles) as KlineColumns["doubles"],
  };
}

const SYMBOL_TYPES = "text, or a dictionary of text with indices of at most 32 bits";
const isText = (type: DataType): boolean =>
  DataType.isUtf8(type) || DataType.isLargeUtf8(type) || DataType.isUtf8View(type);
const isSymbol = (type: DataType): boolean =>
  DataType.isDictionary(type) ? type.indices.bitWidth <= 32 && isText(type.dictionary) : isText(type);
const isInstant = (type: DataType): boolean => DataType.isTimestamp(type) && Boolean(type.timezone);
const isInt64 = (type: DataType): boolean => DataType.isInt(type) && type.isSigned && type.bitWidth === 64;
const isDouble = (type: DataType): boolean => DataType.isFloat(type) && type.precision === Precision.DOUBLE;

function openTable(bytes: Uint8Array): Table {
  try {
    return tableFromIPC(bytes);
  } catch (cause) {
    throw new TypeError(`bytes cannot be read as Arrow IPC: ${messageOf(cause)}`, { cause });
  }
}

/** The column of each record batch: of the expected type, complete, and without nulls unless declared nullable. */
function chunksOf(
  table: Table,
  name: string,
  expected: string,
  fits: (type: DataType) => boolean,
): readonly Data[] {
  const [field, second] = table.schema.fields.filter((one) => one.name === name);
  if (field === undefined) throw new TypeError(`column ${name}: is missing`);
  if (second !== undefined) throw new TypeError(`column ${name}: is there twice`);
  if (!fits(field.type)) {
    throw new TypeError(`column ${name}: is ${String(field.type)}; expected ${expected}`);
  }
  const chunks = table.getChild(name)?.data ?? [];
  let start = 0;
  for (const chunk of chunks) {
    if (!isText(field.type) && chunk.values.length < chunk.length) {
      throw new TypeError(`column ${name}, row ${start + chunk.values.length}: its buffer ends before it`);
    }
    if (!isNullable(name) && chunk.nullCount > 0) {
      throw new TypeError(`column ${name}, row ${start + firstNull(chunk)}: is null`);
    }
    start += chunk.length;
  }
  return chunks;
}

function isNullable(name: string): boolean {
  return columnOf(BARS_1D, name).nullable === true;
}

function firstNull(chunk: Data): number {
  let row = 0;
  while (row < chunk.length && chunk.getValid(row)) row++;
  return row;
}

/** A column's values, without the padding of their buffers; copied where there are several chunks. */
function valuesOf<Values extends Settable<Values>>(
  chunks: readonly Data[],
  make: new (length: number) => Values,
): Values {
  return joined(
    chunks.map((chunk) => chunk.values.subarray(0, chunk.length) as Values),
    make,
  );
}

interface Settable<Self> {
  readonly length: number;
  set(values: Self, at: number): void;
}

/** Concatenates the parts; a single part is not copied. */
function joined<Values extends Settable<Values>>(
  parts: readonly Values[],
  make: new (length: number) => Values,
): Values {
  if (parts.length === 1) return parts[0] as Values;
  const all = new make(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

type Symbols = Pick<KlineColumns, "symbols" | "symbolIndex">;

/** Symbols in the order of their first occurrence; the index of a row can be out of bounds. */
function readSymbols(chunks: readonly Data[]): Symbols {
  const indexes = new Map<string, number>();
  const indexOf = (symbol: string): number => {
    const index = indexes.get(symbol) ?? indexes.size;
    indexes.set(symbol, index);
    return index;
  };
  const parts = chunks.map((chunk) =>
    DataType.isDictionary(chunk.type) ? dictionaryIndexes(chunk, indexOf) : textIndexes(chunk, indexOf),
  );
  return { symbolIndex: joined(parts, Int32Array), symbols: [...indexes.keys()] };
}

/** An entry of a dictionary can be null or a duplicate; another batch can have another dictionary. */
function dictionaryIndexes(chunk: Data, indexOf: (symbol: string) => number): Int32Array {
  const words = [...(chunk.dictionary ?? [])] as (string | null)[];
  const indexes = words.map((word) => (word === null ? -1 : indexOf(word)));
  const values = (chunk.values as Int32Array | Int16Array | Int8Array).subarray(0, chunk.length);
  if (values instanceof Int32Array && indexes.every((index, i) => index === i)) return values;
  const found = new Int32Array(values.length);
  for (let row = 0; row < found.length; row++) found[row] = indexes[values[row] as number] ?? -1;
  return found;
}

function textIndexes(chunk: Data, indexOf: (symbol: string) => number): Int32Array {
  const texts = new Vector([chunk]);
  const found = new Int32Array(chunk.length);
  for (let row = 0; row < found.length; row++) {
    found[row] = repeatsText(chunk, row) ? (found[row - 1] as number) : indexOf(texts.get(row) as string);
  }
  return found;
}

/** Whether a row's text has the same bytes as the row before: decoding each row's text would be slow. */
function repeatsText(chunk: Data, row: number): boolean {
  const { values, valueOffsets } = chunk as { values: Uint8Array; valueOffsets?: ArrayLike<number | bigint> };
  if (row === 0 || valueOffsets === undefined) return false;
  const start = Number(valueOffsets[row]);
  const length = start - Number(valueOffsets[row - 1]);
  if (Number(valueOffsets[row + 1]) - start !== length) return false;
  for (let at = start; at < start + length; at++) if (values[at] !== values[at - length]) return false;
  return true;
}

/** Sorts symbols by their first row, with those without rows last; returns the input if it is sorted already. */
function inRowOrder({ symbols, symbolIndex }: Symbols): Symbols {
  const rank = new Int32Array(symbols.length).fill(-1);
  let ranks = 0;
  let ascending = true;
  for (let row = 0; row < symbolIndex.length; row++) {
    const index = symbolIndex[row] as number;
    const last = row === 0 ? -1 : (symbolIndex[row - 1] as number);
    if (row > 0 && index === last) continue;
    if (rank[index] === undefined) throw new TypeError(`column symbol, row ${row}: has no dictionary entry`);
    if (rank[index] !== -1) {
      throw new TypeError(`column symbol, row ${row}: ${symbols[index]} is back after another symbol`);
    }
    rank[index] = ranks++;
    ascending &&= index > last;
  }
  if (ascending) return { symbols, symbolIndex };
  const ordered: string[] = [];
  for (const [index, symbol] of symbols.entries()) {
    if (rank[index] === -1) rank[index] = ranks++;
    ordered[rank[index] as number] = symbol;
  }
  return { symbols: ordered, symbolIndex: symbolIndex.map((index) => rank[index] as number) };
}

/** Factors that convert a unit to milliseconds. */
const MILLISECONDS: Readonly<Record<TimeUnit, { readonly times: bigint; readonly per: bigint }>> = {
  [TimeUnit.SECOND]: { times: 1000n, per: 1n },
  [TimeUnit.MILLISECOND]: { times: 1n, per: 1n },
  [TimeUnit.MICROSECOND]: { times: 1n, per: 1000n },
  [TimeUnit.NANOSECOND]: { times: 1n, per: 1_000_000n },
};

function readTimestamps(chunks: readonly Data[]): BigInt64Array {
  const values = valuesOf(chunks, BigInt64Array);
  const unit = (chunks[0]?.type as Timestamp | undefined)?.unit ?? TimeUnit.MILLISECOND;
  if (unit === TimeUnit.MILLISECOND) return values;
  const { times, per } = MILLISECONDS[unit];
  const timestamp = new BigInt64Array(values.length);
  for (let row = 0; row < values.length; row++) {
    const value = values[row] as bigint;
    timestamp[row] = (value * times) / per;
    if ((timestamp[row] as bigint) * per !== value * times) {
      const text = `${value} ${TimeUnit[unit].toLowerCase()}s`;
      throw new TypeError(`column timestamp, row ${row}: ${text} are no int64 of milliseconds`);
    }
  }
  return timestamp;
}

function checkAscending(symbolIndex: Int32Array, timestamp: BigInt64Array): void {
  for (let row = 1; row < timestamp.length; row++) {
    if (symbolIndex[row] !== symbolIndex[row - 1]) continue;
    const [before, at] = [timestamp[row - 1] as bigint, timestamp[row] as bigint];
    if (at <= before) throw new TypeError(`column timestamp, row ${row}: ${at} is not after ${before}`);
  }
}

function readDoubles(table: Table, name: string): NumberColumn {
  const rows = table.numRows;
  const absent = !table.schema.fields.some((field) => field.name === name);
  if (absent && isNullable(name)) {
    return { values: new Float64Array(rows).fill(Number.NaN), validity: new Uint8Array(Math.ceil(rows / 8)) };
  }
  const chunks = chunksOf(table, name, "Float64", isDouble);
  return { values: valuesOf(chunks, Float64Array), validity: readValidity(chunks, rows) };
}

function readValidity(chunks: readonly Data[], rows: number): Uint8Array | undefined {
  if (chunks.every((chunk) => chunk.nullCount === 0)) return undefined;
  const bytes = Math.ceil(rows / 8);
  const [first, second] = chunks;
  if (first !== undefined && second === undefined) return first.nullBitmap.subarray(0, bytes);
  const validity = new Uint8Array(bytes);
  let at = 0;
  for (const { nullBitmap, nullCount, length } of chunks) {
    copyBits(nullCount === 0 ? undefined : nullBitmap, 0, length, validity, at);
    at += length;
  }
  return validity;
}

/** Writes bars as an Arrow IPC file of one record batch, with the columns that {@link klineBatch} declares. */
export function klinesToIpc(columns: KlineColumns): Uint8Array {
  const apart = { ...columns, doubles: withoutOverlap(columns.doubles) };
  return tableToIPC(new Table([klineBatch(apart)]), "file");
}

/**
 * Writes bars like {@link klinesToIpc}, except columns without a value, and in pieces that are views of the columns'
 * buffers where possible.
 */
export function klinesToIpcPieces(columns: KlineColumns): AsyncIterable<Uint8Array> {
  const { rows, doubles } = columns;
  const isEmpty = ({ validity }: NumberColumn): boolean =>
    validity !== undefined && isAllNull(validity, rows);
  const empty = new Set<unknown>(rows === 0 ? [] : DOUBLE_COLUMNS.filter((name) => isEmpty(doubles[name])));
  const table = new Table([klineBatch(columns)]);
  return RecordBatchFileWriter.writeAll(table.select(table.schema.names.filter((name) => !empty.has(name))));
}

/**
 * Copies overlapping columns: where Arrow's writer joins its pieces, it merges neighbours that overlap in memory, and drops
 * the shared bytes.
 */
function withoutOverlap(doubles: KlineColumns["doubles"]): KlineColumns["doubles"] {
  const taken: Float64Array[] = [];
  const apart = { ...doubles };
  for (const name of DOUBLE_COLUMNS) {
    const { values, validity } = doubles[name];
    if (taken.some((other) => overlap(other, values))) apart[name] = { values: values.slice(), validity };
    taken.push(values);
  }
  return apart;
}

function overlap(a: Float64Array, b: Float64Array): boolean {
  if (a.buffer !== b.buffer) return false;
  return a.byteOffset < b.byteOffset + b.byteLength && b.byteOffset < a.byteOffset + a.byteLength;
}
