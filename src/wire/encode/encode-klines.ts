import { isPresent } from "../../core/bits.js";
import {
  DOUBLE_COLUMNS,
  type DoubleColumn,
  type KlineColumns,
  type KlineRun,
  type KlineValues,
  type NumberColumn,
  OPTIONAL_COLUMNS,
  WIRE_COLUMNS,
} from "../kline-columns.js";
import { ByteWriter } from "./byte-writer.js";

/** `map`: an object with an entry for each symbol. `single`: the columns of the only symbol. */
export type KlineShape = "map" | "single";

/**
 * Bytes that are reserved for each bar: enough for prices of 17 digits, so that the text need not be copied into a
 * larger buffer. The system maps only the memory pages that are written.
 */
const BAR_BYTES = 96;

/** Least size of a piece of a body, in bytes. */
const PIECE_BYTES = 256 * 1024;

/**
 * Encodes bars as the body of a K-line response: the inverse of {@link decodeKlines}. `map` has an entry for every
 * symbol of the dictionary. Optional columns in which a symbol has no value are left out; a value of these that is not
 * finite, which older lakes may have, is null. @throws {RangeError} for a value of a required column that is not
 * finite.
 */
export function encodeKlines(columns: KlineColumns, shape: KlineShape): Uint8Array {
  return encodeRuns([...runsOfColumns(columns)], shape);
}

/** Like {@link encodeKlines}, for bars in any memory. @param take see {@link ByteWriter}. */
export function encodeRuns(
  runs: readonly KlineRun[],
  shape: KlineShape,
  take?: (bytes: number) => ArrayBuffer,
): Uint8Array<ArrayBuffer> {
  const rows = runs.reduce((sum, { start, end }) => sum + end - start, 0);
  const out = new ByteWriter(256 + runs.length * 128 + rows * BAR_BYTES, take);
  const body = new KlineBody(out, shape);
  for (const run of runs) body.add(run);
  body.end();
  return out.view();
}

/** Like {@link encodeKlines}, in pieces that are made on demand, each of which ends at the end of a symbol. */
export async function* klinePieces(
  blocks: Iterable<Iterable<KlineRun>> | AsyncIterable<Iterable<KlineRun>>,
  shape: KlineShape,
): AsyncGenerator<Uint8Array> {
  const out = new ByteWriter(2 * PIECE_BYTES);
  const body = new KlineBody(out, shape);
  for await (const runs of blocks) {
    for (const run of runs) {
      body.add(run);
      if (out.length >= PIECE_BYTES) yield out.take();
    }
  }
  body.end();
  yield out.view();
}

/** The bars of each symbol, in the order of the dictionary. */
export function* runsOfColumns(columns: KlineColumns): Generator<KlineRun> {
  let start = 0;
  for (const [index, symbol] of columns.symbols.entries()) {
    let end = start;
    while (end < columns.rows && columns.symbolIndex[end] === index) end += 1;
    yield { symbol, values: columns, start, end };
    start = end;
  }
}

class KlineBody {
  readonly #out: ByteWriter;
  readonly #shape: KlineShape;
  readonly #times = new TimesText();
  #isFirst = true;

  constructor(out: ByteWriter, shape: KlineShape) {
    this.#out = out;
    this.#shape = shape;
    out.ascii('{"data":');
    if (shape === "map") out.byte(0x7b);
  }

  add(run: KlineRun): void {
    const out = this.#out;
    if (this.#shape === "map") {
      if (!this.#isFirst) out.byte(0x2c);
      out.jsonString(run.symbol);
      out.byte(0x3a);
    }
    writeBars(out, run, this.#times);
    this.#isFirst = false;
  }

  end(): void {
    if (this.#shape === "map") this.#out.byte(0x7d);
    else if (this.#isFirst)
      writeBars(this.#out, { symbol: "", values: NO_BARS, start: 0, end: 0 }, this.#times);
    this.#out.byte(0x7d);
  }
}

const NO_DOUBLES: NumberColumn = { values: new Float64Array(0), validity: undefined };

export const NO_BARS: KlineValues = {
  timestamp: new BigInt64Array(0),
  volume: new BigInt64Array(0),
  doubles: Object.fromEntries(DOUBLE_COLUMNS.map((name) => [name, NO_DOUBLES])) as KlineValues["doubles"],
};

/** The last timestamps that were written, and their text: most symbols of a response have bars at the same times. */
class TimesText {
  /** Two words for each timestamp. */
  #words = new Int32Array(0);
  #rows = 0;
  #text = new Uint8Array(0);
  #length = 0;

  write(out: ByteWriter, times: BigInt64Array): void {
    const words = new Int32Array(times.buffer, times.byteOffset, 2 * times.length);
    if (times.length === this.#rows && beginsWith(this.#words, words)) {
      out.bytes(this.#text.subarray(0, this.#length));
      return;
    }
    const before = out.length;
    out.integers(times);
    const text = out.view().subarray(before);
    if (this.#words.length < words.length) this.#words = new Int32Array(2 * words.length);
    if (this.#text.length < text.length) this.#text = new Uint8Array(2 * text.length);
    this.#words.set(words);
    this.#text.set(text);
    [this.#rows, this.#length] = [times.length, text.length];
  }
}

function beginsWith(all: Int32Array, first: Int32Array): boolean {
  for (let at = 0; at < first.length; at++) if (all[at] !== first[at]) return false;
  return true;
}

function writeBars(out: ByteWriter, { values, start, end }: KlineRun, times: TimesText): void {
  let separator = 0x7b;
  for (const { name, head, isOptional } of WIRE_MEMBERS) {
    const doubles = isDouble(name) ? values.doubles[name] : undefined;
    if (doubles && isOptional && nextPresent(doubles, start, end) === end) continue;
    out.byte(separator);
    separator = 0x2c;
    out.bytes(head);
    if (doubles) writeDoubles(out, doubles, start, end, isOptional ? "null" : undefined);
    else if (name === "timestamp") times.write(out, values.timestamp.subarray(start, end));
    else out.integers(values.volume.subarray(start, end));
    if (end > start) out.dropByte();
    out.byte(0x5d);
  }
  out.byte(0x7d);
}

function writeDoubles(
  out: ByteWriter,
  column: NumberColumn,
  start: number,
  end: number,
  nonFinite: string | undefined,
): void {
  for (let at = start; at < end; ) {
    const present = nextPresent(column, at, end);
    for (; at < present; at++) out.ascii("null,");
    const absent = nextAbsent(column, at, end);
    out.doubles(column.values.subarray(at, absent), nonFinite);
    at = absent;
  }
}

const WIRE_MEMBERS = WIRE_COLUMNS.map((name) => ({
  name,
  head: Buffer.from(`"${name}":[`),
  isOptional: OPTIONAL_COLUMNS.has(name),
}));

function isDouble(name: string): name is DoubleColumn {
  return name !== "timestamp" && name !== "volume";
}

/** The first row at or after `start` that has a value; `end` if there is none. */
function nextPresent(column: NumberColumn, start: number, end: number): number {
  let row = start;
  while (row < end && !isPresent(column.validity, row))
    row += column.validity?.[row >> 3] === 0 ? 8 - (row & 7) : 1;
  return Math.min(row, end);
}

/** The first row at or after `start` that has no value; `end` if there is none. */
function nextAbsent(column: NumberColumn, start: number, end: number): number {
  if (column.validity === undefined) return end;
  let row = start;
  while (row < end && isPresent(column.validity, row)) row += 1;
  return row;
}
