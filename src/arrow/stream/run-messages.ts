import type { BufferRegion } from "apache-arrow/ipc/metadata/message";
import { copyBits, countZeros } from "../../core/bits.js";
import { KLINE_COLUMNS } from "../../schema/bars.js";
import {
  DOUBLE_COLUMNS,
  type DoubleColumn,
  type KlineRun,
  type KlineValues,
  OPTIONAL_COLUMNS,
} from "../../wire/kline-columns.js";
import { BatchBody, type StreamMessage } from "./stream-message.js";

/** Most rows of a batch: 2 MB. */
const BATCH_ROWS = 32_768;
/** Rows from which on a run is a batch by itself, and is not copied. Shorter runs are joined: a batch has its cost. */
const LONG_ROWS = 2048;
/** The validity of a column of only nulls. */
const NO_BITS = new Uint8Array(BATCH_ROWS / 8);
const NAMES: readonly string[] = KLINE_COLUMNS.map(({ name }) => name);

/** The symbols of a stream, which its batches name by their indexes. */
export interface StreamSymbols {
  readonly indexes: ReadonlyMap<string, number>;
  /** The type of the indexes. */
  readonly Index: typeof Int16Array | typeof Int32Array;
}

/** Adjacent rows of one symbol, with the symbol's index. */
interface Piece {
  readonly symbol: number;
  readonly values: KlineValues;
  readonly start: number;
  readonly end: number;
}

/**
 * The record batches of runs: a long run is sent from the memory that it is in, short ones are copied into joint
 * batches. The values are not touched before the messages are read.
 */
export function* runMessages(runs: readonly KlineRun[], symbols: StreamSymbols): Generator<StreamMessage> {
  for (const pieces of piecesOfBatches(runs, symbols.indexes)) yield batchOf(pieces, symbols);
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
    const isLong = last - first >= LONG_ROWS;
    if (rows > 0 && (isLong || rows + last - first > BATCH_ROWS)) {
      yield pieces;
      [pieces, rows] = [[], 0];
    }
    if (isLong) {
      for (let start = first; start < last; start += BATCH_ROWS)
        yield [{ symbol, values, start, end: Math.min(last, start + BATCH_ROWS) }];
    } else if (last > first) {
      pieces.push({ symbol, values, start: first, end: last });
      rows += last - first;
    }
  }
  if (rows > 0) yield pieces;
}

function batchOf(pieces: readonly Piece[], { Index }: StreamSymbols): StreamMessage {
  const rows = pieces.reduce((sum, { start, end }) => sum + end - start, 0);
  const body = new BatchBody(rows);
  required(body, rows * Index.BYTES_PER_ELEMENT, () => symbolIndexes(pieces, new Index(rows)));
  let last = required(body, rows * 8, () =>
    joined(pieces, rows, BigInt64Array, ({ timestamp }) => timestamp),
  );
  for (const name of NAMES) {
    if (!isDouble(name))
      last = required(body, rows * 8, () => joined(pieces, rows, BigInt64Array, ({ volume }) => volume));
    else if (OPTIONAL_COLUMNS.has(name)) optional(body, pieces, rows, name, last);
    else last = required(body, rows * 8, () => joinedDoubles(pieces, rows, name));
  }
  return body.recordBatch();
}

function isDouble(name: string): name is DoubleColumn {
  return (DOUBLE_COLUMNS as readonly string[]).includes(name);
}

function required(body: BatchBody, bytes: number, make: () => ArrayBufferView): BufferRegion {
  body.column(0);
  body.noBuffer();
  return body.buffer(bytes, make);
}

/** Adds a column that can have nulls. @param other a buffer of doubles: a column of only nulls needs no separate buffer. */
function optional(
  body: BatchBody,
  pieces: readonly Piece[],
  rows: number,
  name: DoubleColumn,
  other: BufferRegion,
): void {
  const nulls = pieces.reduce((sum, { values, start, end }) => {
    const { validity } = values.doubles[name];
    return validity === undefined ? sum : sum + countZeros(validity, start, end);
  }, 0);
  body.column(nulls);
  if (nulls === 0) body.noBuffer();
  else if (nulls === rows) body.buffer(bitmapBytes(rows), () => NO_BITS.subarray(0, bitmapBytes(rows)));
  else body.buffer(bitmapBytes(rows), () => joinedValidity(pieces, rows, name));
  if (nulls === rows) body.sameBuffer(other);
  else body.buffer(rows * 8, () => joinedDoubles(pieces, rows, name));
}

function bitmapBytes(rows: number): number {
  return Math.ceil(rows / 8);
}

function symbolIndexes<Indexes extends Int16Array | Int32Array>(
  pieces: readonly Piece[],
  indexes: Indexes,
): Indexes {
  let at = 0;
  for (const { symbol, start, end } of pieces) {
    indexes.fill(symbol, at, at + end - start);
    at += end - start;
  }
  return indexes;
}

interface Settable<Self> {
  readonly length: number;
  set(values: Self, at: number): void;
  subarray(start: number, end: number): Self;
}

/** The values of a column; those of a single piece are not copied. */
function joined<Values extends Settable<Values>>(
  pieces: readonly Piece[],
  rows: number,
  make: new (length: number) => Values,
  of: (values: KlineValues) => Values,
): Values {
  const [only] = pieces;
  if (pieces.length === 1 && only !== undefined) return of(only.values).subarray(only.start, only.end);
  const all = new make(rows);
  let at = 0;
  for (const { values, start, end } of pieces) {
    // A column without a value may have no values: its rows are 0 below their nulls.
    const own = of(values);
    if (own.length > 0) all.set(own.subarray(start, end), at);
    at += end - start;
  }
  return all;
}

function joinedDoubles(pieces: readonly Piece[], rows: number, name: DoubleColumn): Float64Array {
  return joined(pieces, rows, Float64Array, ({ doubles }) => doubles[name].values);
}

function joinedValidity(pieces: readonly Piece[], rows: number, name: DoubleColumn): Uint8Array {
  const bits = new Uint8Array(bitmapBytes(rows));
  let at = 0;
  for (const { values, start, end } of pieces) {
    copyBits(values.doubles[name].validity, start, end - start, bits, at);
    at += end - start;
  }
  return bits;
}
