import {
  Dictionary,
  Field,
  Float64,
  Int16,
  Int32,
  Int64,
  Schema,
  TimestampMillisecond,
  Utf8,
} from "apache-arrow";
import { KLINE_COLUMNS } from "../../schema/bars.js";
import type { KlineRun } from "../../wire/kline-columns.js";
import { runMessages, type StreamSymbols } from "./run-messages.js";
import { BatchBody, CUT_SHORT, END_OF_STREAM, type StreamMessage, schemaMessage } from "./stream-message.js";

const DICTIONARY_ID = 0;
/** Most symbols that indexes of 16 bits can name. */
const SHORT_INDEXES = 2 ** 15;
const UTF8 = new TextEncoder();

/** What a stream says in addition to its bars. */
export interface StreamFacts {
  /** The dictionary; the symbols of all bars are among them. */
  readonly symbols: readonly string[];
  /** Metadata of the schema. */
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
