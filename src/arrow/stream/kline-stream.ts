import {
  Dictionary,
  Field,
  Float64,
  Int16,
  Int32,
  Int64,
  RecordBatch,
  RecordBatchReader,
  Schema,
  TimestampMillisecond,
  Utf8,
} from "apache-arrow";
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
import { BatchBody, CUT_SHORT, END_OF_STREAM, type StreamMessage, schemaMessage } from "./stream-message.js";

/** Most rows of a batch: 2 MB. */
const BATCH_ROWS = 32_768;
/** Rows from which on a run is a batch by itself, and is not copied. Shorter runs are joined: a batch has its cost. */
const LONG_ROWS = 2048;
/** The validity of a column of only nulls. */
const NO_BITS = new Uint8Array(BATCH_ROWS / 8);
const NAMES: readonly string[] = KLINE_COLUMNS.map(({ name }) => name);

interface StreamSymbols {
  readonly indexes: ReadonlyMap<string, number>;
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
function* runMessages(runs: readonly KlineRun[], symbols: StreamSymbols): Generator<StreamMessage> {
  for (const pieces of piecesOfBatches(runs, symbols.indexes)) yield batchOf(pieces, symbols);
}

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

const DICTIONARY_ID = 0;
/** Most symbols that indexes of 16 bits can name. */
const SHORT_INDEXES = 2 ** 15;
const UTF8 = new TextEncoder();

/** What a stream says in addition to its bars. */
export interface StreamFacts {
  /** The dictionary; the symbols of all bars are among them. */
  readonly symbols: readonly string[];
  readonly metadata: ReadonlyMap<string, string>;
}

/**
 * Bars as an Arrow IPC stream: `symbol` as a dictionary of text, with indexes of 16 bits (of 32 bits where there are more
 * than 32,768 symbols); `timestamp` as timestamp[ms, UTC]; then the columns of K-lines in the interface's order.
 *
 * Every column is in every stream, so that all streams have the same schema. In a batch in which a column
 * has no value, it takes a bit a row: it has the buffer of another column below its nulls.
 */
export interface KlineStream {
  /** Bytes of the whole stream. */
  readonly byteLength: number;
  pieces(): Generator<Uint8Array, void, undefined>;
}

/** The stream of bars that are in memory. They are not copied, except short runs, as they are read. */
export function klineStream(runs: readonly KlineRun[], facts: StreamFacts): KlineStream {
  const symbols = symbolsOf(facts);
  const messages = [...headMessages(facts, symbols), ...runMessages(runs, symbols)];
  return {
    byteLength: messages.reduce((sum, { byteLength }) => sum + byteLength, END_OF_STREAM.length),
    *pieces() {
      yield* piecesOf(messages);
      yield END_OF_STREAM;
    },
  };
}

/**
 * The pieces of the stream of bars in blocks, each of which is read when the pieces before it have been. If a block
 * cannot be read, the stream ends within a message, and the error follows.
 */
export async function* klineStreamPieces(
  blocks: AsyncIterable<readonly KlineRun[]>,
  facts: StreamFacts,
): AsyncGenerator<Uint8Array, void, undefined> {
  const symbols = symbolsOf(facts);
  const reading = blocks[Symbol.asyncIterator]();
  let block = await reading.next();
  yield* piecesOf(headMessages(facts, symbols));
  try {
    for (; block.done !== true; block = await reading.next())
      yield* piecesOf(runMessages(block.value, symbols));
  } catch (error) {
    yield CUT_SHORT;
    throw error;
  }
  yield END_OF_STREAM;
}

function* piecesOf(messages: Iterable<StreamMessage>): Generator<Uint8Array, void, undefined> {
  for (const message of messages) yield* message.pieces();
}

function symbolsOf({ symbols }: StreamFacts): StreamSymbols {
  return {
    indexes: new Map(symbols.map((symbol, index) => [symbol, index])),
    Index: symbols.length <= SHORT_INDEXES ? Int16Array : Int32Array,
  };
}

/** The messages before the batches: the schema, and the dictionary of symbols. */
function headMessages({ symbols, metadata }: StreamFacts, { Index }: StreamSymbols): StreamMessage[] {
  const index = Index === Int16Array ? new Int16() : new Int32();
  const keys = [
    new Field("symbol", new Dictionary(new Utf8(), index, DICTIONARY_ID), false),
    new Field("timestamp", new TimestampMillisecond("UTC"), false),
  ];
  const fields = KLINE_COLUMNS.map(({ name, unit, nullable = false }) => {
    const type = name === "volume" ? new Int64() : new Float64();
    const described = name === "volume" ? "lots of 100 shares in CN, else shares" : (unit ?? "");
    return new Field(name, type, nullable, new Map([["unit", described]]));
  });
  return [schemaMessage(new Schema([...keys, ...fields], new Map(metadata))), dictionaryMessage(symbols)];
}

function dictionaryMessage(symbols: readonly string[]): StreamMessage {
  const texts = symbols.map((symbol) => UTF8.encode(symbol));
  const offsets = new Int32Array(texts.length + 1);
  for (const [index, text] of texts.entries()) offsets[index + 1] = (offsets[index] as number) + text.length;
  const body = new BatchBody(texts.length);
  body.column(0);
  body.noBuffer();
  body.buffer(offsets.byteLength, () => offsets);
  body.buffer(offsets.at(-1) as number, () => Buffer.concat(texts));
  return body.dictionary(DICTIONARY_ID);
}

/**
 * Record batches of bars, in the form of {@link klineStreamPieces}: the batches of a program and those of the service
 * have one schema. Values are copied. There is at least one batch, which may be empty.
 *
 * @param blocks the runs, in blocks that are read on demand; their symbols are among those of the facts.
 */
export async function* runBatches(
  blocks: AsyncIterable<readonly KlineRun[]>,
  facts: StreamFacts,
): AsyncGenerator<RecordBatch, void, undefined> {
  const reader = await RecordBatchReader.from(apart(klineStreamPieces(blocks, facts)));
  await reader.open();
  let isEmpty = true;
  for await (const batch of reader) {
    isEmpty = false;
    yield batch;
  }
  if (isEmpty) yield new RecordBatch(reader.schema);
}

/**
 * Copies a piece whose memory overlaps that of the piece before it, as the validity of two columns of nulls does: the
 * reader takes such pieces for one range of bytes.
 */
async function* apart(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void, undefined> {
  let before: Uint8Array = new Uint8Array(0);
  for await (const piece of pieces) {
    const isApart =
      piece.buffer !== before.buffer || piece.byteOffset === before.byteOffset + before.byteLength;
    before = isApart ? piece : piece.slice();
    yield before;
  }
}
