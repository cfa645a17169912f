import {
  type Data,
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
  vectorFromArray,
} from "apache-arrow";
import { copyBits, isSet } from "../core/bits.js";
import { KLINE_COLUMNS } from "../schema/bars.js";
import {
  DOUBLE_COLUMNS,
  type DoubleColumn,
  type KlineRun,
  type KlineValues,
  OPTIONAL_COLUMNS,
} from "../wire/kline-columns.js";

/** Most rows of a batch: 3 MB, and large enough that what belongs to the batch itself costs nothing. */
const BATCH_ROWS = 32_768;

const SYMBOL = new Dictionary(new Utf8(), new Int32(), 0);
const TIMESTAMP = new TimestampMillisecond("UTC");
const NAMES: readonly string[] = KLINE_COLUMNS.map(({ name }) => name);

/** Adjacent rows of one symbol, with the symbol's index. */
interface Piece {
  readonly symbol: number;
  readonly values: KlineValues;
  readonly start: number;
  readonly end: number;
}

/**
 * Makes record batches of bars: `symbol` as dictionary<int32, utf8>, `timestamp` as timestamp[ms, UTC], then the columns
 * of K-lines in the interface's order. Each value is copied once; a batch within one symbol is not copied. Every column
 * is in every stream, so that streams have the same schema whatever the data, and there is at least one batch.
 *
 * @param blocks the runs, in blocks that are read on demand; their symbols are among `symbols`.
 * @param symbols the dictionary of all batches.
 * @param metadata of the schema.
 */
export async function* runBatches(
  blocks: Iterable<readonly KlineRun[]> | AsyncIterable<readonly KlineRun[]>,
  symbols: readonly string[],
  metadata: ReadonlyMap<string, string>,
): AsyncGenerator<RecordBatch> {
  const schema = schemaOf(metadata);
  const dictionary = vectorFromArray([...symbols], new Utf8());
  const indexes = new Map(symbols.map((symbol, index) => [symbol, index]));
  let isEmpty = true;
  for await (const runs of blocks) {
    for (const pieces of piecesOfBatches(runs, indexes)) {
      isEmpty = false;
      yield batchOf(schema, dictionary, pieces);
    }
  }
  if (isEmpty) yield batchOf(schema, dictionary, []);
}

function schemaOf(metadata: ReadonlyMap<string, string>): Schema {
  const fields = KLINE_COLUMNS.map(({ name, unit, nullable = false }) => {
    const type = name === "volume" ? new Int64() : new Float64();
    const described = name === "volume" ? "lots of 100 shares in CN, else shares" : (unit ?? "");
    return new Field<Int64 | Float64>(name, type, nullable, new Map([["unit", described]]));
  });
  const keys = [new Field("symbol", SYMBOL, false), new Field("timestamp", TIMESTAMP, false)];
  return new Schema([...keys, ...fields], new Map(metadata));
}

/** Cuts runs into the pieces of batches. */
function* piecesOfBatches(
  runs: readonly KlineRun[],
  indexes: ReadonlyMap<string, number>,
): Generator<readonly Piece[]> {
  let pieces: Piece[] = [];
  let rows = 0;
  for (const { symbol: name, values, start: first, end: last } of runs) {
    const symbol = indexes.get(name);
    if (symbol === undefined) throw new TypeError(`symbol ${name} is not in the dictionary`);
    for (let start = first; start < last; ) {
      const end = Math.min(last, start + BATCH_ROWS - rows);
      pieces.push({ symbol, values, start, end });
      rows += end - start;
      start = end;
      if (rows < BATCH_ROWS) continue;
      yield pieces;
      [pieces, rows] = [[], 0];
    }
  }
  if (rows > 0) yield pieces;
}

function batchOf(schema: Schema, dictionary: Vector<Utf8>, pieces: readonly Piece[]): RecordBatch {
  const length = rowsOf(pieces);
  const symbols = new Int32Array(length);
  let at = 0;
  for (const { symbol, start, end } of pieces) {
    symbols.fill(symbol, at, at + end - start);
    at += end - start;
  }
  const timestamp = joined(pieces, length, BigInt64Array, ({ timestamp: all }) => all);
  const children: Data[] = [
    makeData({ type: SYMBOL, length, nullCount: 0, data: symbols, dictionary }),
    makeData({ type: TIMESTAMP, length, nullCount: 0, data: timestamp }),
    ...NAMES.map((name) => {
      if (isDouble(name)) return doubles(pieces, length, name);
      const data = joined(pieces, length, BigInt64Array, ({ volume }) => volume);
      return makeData({ type: new Int64(), length, nullCount: 0, data });
    }),
  ];
  return new RecordBatch(
    schema,
    makeData({ type: new Struct(schema.fields), length, nullCount: 0, children }),
  );
}

function isDouble(name: string): name is DoubleColumn {
  return (DOUBLE_COLUMNS as readonly string[]).includes(name);
}

function rowsOf(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { start, end }) => sum + end - start, 0);
}

interface Settable<Self> {
  readonly length: number;
  set(values: Self, at: number): void;
  subarray(start: number, end: number): Self;
}

function joined<Values extends Settable<Values>>(
  pieces: readonly Piece[],
  length: number,
  make: new (length: number) => Values,
  of: (values: KlineValues) => Values,
): Values {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return of(only.values).subarray(only.start, only.end);
  const all = new make(length);
  let at = 0;
  for (const { values, start, end } of pieces) {
    all.set(of(values).subarray(start, end), at);
    at += end - start;
  }
  return all;
}

/** Zeros that columns of only nulls share. */
const NO_VALUES = new Float64Array(BATCH_ROWS);

function doubles(pieces: readonly Piece[], length: number, name: DoubleColumn): Data<Float64> {
  const type = new Float64();
  const validity = OPTIONAL_COLUMNS.has(name) ? validityOf(pieces, length, name) : undefined;
  if (validity?.nullCount === length)
    return makeData({ type, length, ...validity, data: NO_VALUES.subarray(0, length) });
  const isWhole = pieces.every(({ values, end }) => values.doubles[name].values.length >= end);
  // A column without a value has no values: its rows stay 0 below their nulls.
  const data = isWhole
    ? joined(pieces, length, Float64Array, (values) => values.doubles[name].values)
    : joined(pieces, length, Float64Array, (values) => filled(values, name));
  return makeData({ type, length, data, ...(validity ?? { nullCount: 0 }) });
}

function filled({ doubles: columns, timestamp }: KlineValues, name: DoubleColumn): Float64Array {
  const { values } = columns[name];
  return values.length === 0 ? new Float64Array(timestamp.length) : values;
}

/** The validity of a column; undefined where every row has a value. */
function validityOf(
  pieces: readonly Piece[],
  length: number,
  name: DoubleColumn,
): { readonly nullBitmap: Uint8Array; readonly nullCount: number } | undefined {
  if (pieces.every(({ values }) => values.doubles[name].validity === undefined)) return undefined;
  const nullBitmap = new Uint8Array(Math.ceil(length / 64) * 8);
  let at = 0;
  for (const { values, start, end } of pieces) {
    copyBits(values.doubles[name].validity, start, end - start, nullBitmap, at);
    at += end - start;
  }
  let nullCount = 0;
  for (let row = 0; row < length; ) {
    if ((row & 7) === 0 && row + 8 <= length) {
      const byte = nullBitmap[row >> 3] as number;
      if (byte === 0 || byte === 0xff) {
        nullCount += byte === 0 ? 8 : 0;
        row += 8;
        continue;
      }
    }
    if (!isSet(nullBitmap, row)) nullCount += 1;
    row += 1;
  }
  return nullCount === 0 ? undefined : { nullBitmap, nullCount };
}
