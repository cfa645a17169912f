import { countZeros, isPresent, isSet } from "../../core/bits.js";
import { WireError } from "../../core/errors.js";
import type { IssueLog } from "../../core/issue.js";
import type { DecodedDocument } from "../../wire/decode/decoded-bars.js";
import type { KlineBuffers } from "../../wire/decode/kline-buffers.js";
import { type KlineExpectation, MAX_BARS, MAX_SYMBOLS } from "../../wire/decode/kline-expectation.js";
import { strangeSymbol } from "../../wire/decode/strange-symbol.js";
import { SymbolBars } from "../../wire/decode/symbol-bars.js";
import { OPTIONAL_COLUMNS, WIRE_COLUMNS } from "../../wire/kline-columns.js";
import { FlatError, type FlatTable, type ReadMessage } from "./message-reader.js";

/** Where a column is in each batch. */
interface ColumnPlace {
  /** Number of its field. */
  readonly node: number;
  /** Number of its first buffer. */
  readonly buffer: number;
}

/** A type of the elements of a buffer. */
interface NumbersOf<Values> {
  readonly BYTES_PER_ELEMENT: number;
  new (buffer: ArrayBufferLike, offset: number, length: number): Values;
}

type Numbers = Float64Array | BigInt64Array | Int32Array | Int16Array | Int8Array | Uint8Array;

/** A column of a batch, without a copy. */
interface BatchColumn<Values> {
  /** The index of each row. */
  readonly values: Values;
  readonly nulls: number;
  /** One bit a row; undefined where no row is null. */
  readonly validity: Uint8Array | undefined;
}

/** A record batch as it was read; every buffer is checked to be within the body and to have its rows. */
export class ReadBatch {
  readonly rows: number;
  readonly #header: FlatTable;
  readonly #body: Uint8Array;

  /** @param body its memory begins at a multiple of 8 bytes. @throws {FlatError} */
  constructor(header: FlatTable, body: Uint8Array) {
    if (header.table(3) !== undefined) throw new FlatError("batch is compressed, which was not asked for");
    this.#header = header;
    this.#body = body;
    this.rows = header.size(0);
  }

  /** @throws {FlatError} where the batch has no such column with its rows. */
  column<Values extends Numbers>(
    { node, buffer }: ColumnPlace,
    make: NumbersOf<Values>,
  ): BatchColumn<Values> {
    const nodes = this.#header.vector(1, 16);
    if (node >= nodes.length) throw new FlatError(`batch has ${nodes.length} columns`);
    const [length, nulls] = [0, 8].map((at) => this.#header.sizeAt(nodes.at(node) + at));
    if (length !== this.rows || nulls === undefined || nulls > length)
      throw new FlatError(
        `column ${node} of a batch of ${this.rows} rows has ${length}, ${nulls} of them null`,
      );
    return {
      values: this.numbers(buffer + 1, this.rows, make),
      nulls,
      validity: nulls === 0 ? undefined : this.numbers(buffer, Math.ceil(this.rows / 8), Uint8Array),
    };
  }

  /** The first elements of a buffer. @throws {FlatError} where it has fewer. */
  numbers<Values extends Numbers>(buffer: number, count: number, make: NumbersOf<Values>): Values {
    const buffers = this.#header.vector(2, 16);
    if (buffer >= buffers.length) throw new FlatError(`batch has ${buffers.length} buffers`);
    const offset = this.#header.sizeAt(buffers.at(buffer));
    const bytes = this.#header.sizeAt(buffers.at(buffer) + 8);
    if (offset % 8 !== 0 || offset + bytes > this.#body.length)
      throw new FlatError(`buffer ${buffer} is at ${offset}, not within the body`);
    if (count * make.BYTES_PER_ELEMENT > bytes)
      throw new FlatError(`buffer ${buffer} has ${bytes} bytes, too few for ${count} rows`);
    return new make(this.#body.buffer, this.#body.byteOffset + offset, count);
  }

  /** The texts of the batch's only column. @throws {FlatError} where it is no column of texts. */
  texts(): string[] {
    const { nulls } = this.column({ node: 0, buffer: 0 }, Uint8Array);
    if (nulls > 0) throw new FlatError("dictionary has a null");
    const offsets = this.numbers(1, this.rows + 1, Int32Array);
    const bytes = this.numbers(2, offsets[this.rows] as number, Uint8Array);
    return Array.from({ length: this.rows }, (_, row) => {
      const [start, end] = [offsets[row] as number, offsets[row + 1] as number];
      if (start < 0 || end < start || end > bytes.length)
        throw new FlatError("dictionary has texts that overlap");
      return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString("utf8");
    });
  }
}

/** The number of a type in Arrow's format. */
const [NULL, INT, FLOAT, UTF8, TIMESTAMP] = [1, 2, 3, 5, 10] as const;
/** Buffers of a column, by the number of its type: validity and values, and offsets for text and binary. */
const BUFFERS: Readonly<Record<number, number>> = {
  [NULL]: 0,
  [INT]: 2,
  [FLOAT]: 2,
  4: 3,
  [UTF8]: 3,
  6: 2,
  7: 2,
  8: 2,
  9: 2,
  [TIMESTAMP]: 2,
  11: 2,
  15: 2,
  18: 2,
  19: 3,
  20: 3,
};
/** Most columns of a schema, those of other names included. */
const MAX_COLUMNS = 100;
const DOUBLE = 2;
const MILLISECOND = 1;

/** Indexes of symbols, by their bits. */
const INDEXES: Readonly<Record<number, NumbersOf<Int8Array | Int16Array | Int32Array>>> = {
  8: Int8Array,
  16: Int16Array,
  32: Int32Array,
};

/** The columns of a stream of bars, as its schema declares them. */
interface KlineSchema {
  readonly symbol: ColumnPlace;
  /** The type of the symbols' indexes. */
  readonly Index: NumbersOf<Int8Array | Int16Array | Int32Array>;
  readonly dictionaryId: number;
  /** Columns of bars, by their names on the wire. */
  readonly columns: ReadonlyMap<string, ColumnPlace>;
}

/**
 * Reads the schema of a stream of bars: `symbol` as a dictionary of text with signed indexes of 8 to 32 bits, `timestamp`
 * as milliseconds with a zone, `volume` as int64, the others as doubles. Optional columns may be missing, and columns of
 * other names are skipped, in any order.
 *
 * @param offset of the message, for errors.
 * @throws {WireError} for another schema, naming the column and what was expected of it.
 */
function readKlineSchema(header: FlatTable, offset: number): KlineSchema {
  if (header.int16(0) !== 0) throw wrong("numbers are big-endian", offset);
  const columns = new Map<string, ColumnPlace>();
  let buffer = 0;
  let found: Pick<KlineSchema, "symbol" | "Index" | "dictionaryId"> | undefined;
  const fields = header.tables(1);
  if (fields.length > MAX_COLUMNS) throw wrong(`it has ${fields.length} columns`, offset);
  for (const [node, field] of fields.entries()) {
    const name = field.text(0) ?? "";
    const place = { node, buffer };
    const dictionary = field.table(4);
    const buffers = dictionary === undefined ? BUFFERS[field.uint8(2)] : 2;
    if (buffers === undefined || (dictionary === undefined && field.vector(5, 4).length > 0))
      throw wrong(`column ${named(name)} has a nested or an unknown type`, offset);
    buffer += buffers;
    if (columns.has(name) || (name === "symbol" && found !== undefined))
      throw wrong(`column ${named(name)} is there twice`, offset);
    if (name === "symbol") found = { symbol: place, ...symbolsOf(field, dictionary, offset) };
    else if (WIRE_COLUMNS.includes(name)) {
      const expected = dictionary === undefined ? unmetType(name, field) : "no dictionary";
      if (expected !== undefined) throw wrong(`column ${name} has another type than ${expected}`, offset);
      columns.set(name, place);
    }
  }
  const missing = WIRE_COLUMNS.find((name) => !columns.has(name) && !OPTIONAL_COLUMNS.has(name));
  if (missing !== undefined) throw wrong(`column ${missing} is missing`, offset);
  if (found === undefined) throw wrong("column symbol is missing", offset);
  return { ...found, columns };
}

function symbolsOf(
  field: FlatTable,
  dictionary: FlatTable | undefined,
  offset: number,
): Pick<KlineSchema, "Index" | "dictionaryId"> {
  const index = dictionary?.table(1);
  // Without a type, indexes are signed and have 32 bits.
  const bits = index === undefined ? 32 : index.uint8(1) === 1 ? index.int32(0) : 0;
  const Index = INDEXES[bits];
  if (dictionary === undefined || field.uint8(2) !== UTF8 || Index === undefined)
    throw wrong("column symbol is not a dictionary of text with signed indexes of 8 to 32 bits", offset);
  return { Index, dictionaryId: dictionary.size(0) };
}

/** The type that a column should have; undefined where it has it. */
function unmetType(name: string, field: FlatTable): string | undefined {
  const [kind, type] = [field.uint8(2), field.table(3)];
  if (type === undefined) throw new FlatError("field has no type");
  if (name === "timestamp") {
    const isMet = kind === TIMESTAMP && type.int16(0) === MILLISECOND && Boolean(type.text(1));
    return isMet ? undefined : "milliseconds with a zone";
  }
  if (name === "volume")
    return kind === INT && type.int32(0) === 64 && type.uint8(1) === 1 ? undefined : "int64";
  return kind === FLOAT && type.int16(0) === DOUBLE ? undefined : "double";
}

function wrong(what: string, offset: number): WireError {
  return new WireError("wrong_shape", `Arrow stream has no bars: ${what}`, offset);
}

function named(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}

type Column = BatchColumn<Float64Array | BigInt64Array>;

/** Rows of one symbol in a batch. */
interface Segment {
  readonly columns: ReadonlyMap<string, Column>;
  readonly start: number;
  readonly end: number;
}

/** The symbol whose rows are being read. */
interface OpenSymbol {
  readonly index: number;
  readonly offset: number;
  readonly isTaken: boolean;
  readonly segments: Segment[];
  /** The number of the batch in which it begins. */
  readonly batch: number;
  rows: number;
}

/** A value that JSON cannot state. */
const NO_NUMBER = {
  toDouble: () => Number.NaN,
  toSmallInteger: () => Number.NaN,
  toBigInt: () => "range" as const,
  text: () => "infinite or not a number",
};

/**
 * Takes the messages of a stream of bars, and fills column buffers with them, by the same rules as a JSON document: what
 * is wrong with a bar or a symbol is an issue, what is wrong with the stream an error.
 */
export class StreamBars {
  readonly #requested: ReadonlySet<string> | undefined;
  readonly #maxSymbols: number;
  readonly #maxBars: number;
  readonly #issues: IssueLog;
  readonly #bars: SymbolBars;
  #schema: KlineSchema | undefined;
  #names: readonly string[] | undefined;
  /** Indexes of symbols whose rows have been read. */
  readonly #done = new Set<number>();
  #open: OpenSymbol | undefined;
  /** Number of batches that were taken. */
  #batches = 0;

  /** @param buffers empty buffers. */
  constructor(expectation: KlineExpectation, issues: IssueLog, buffers: KlineBuffers) {
    this.#requested = expectation.symbols && new Set(expectation.symbols);
    this.#maxSymbols = expectation.maxSymbols ?? MAX_SYMBOLS;
    this.#maxBars = expectation.maxBarsPerSymbol ?? MAX_BARS;
    this.#issues = issues;
    this.#bars = new SymbolBars(buffers, issues, this.#maxBars, expectation.window);
  }

  /** How many of the last batches have values that are not copied yet: those of the symbol whose rows are being read. */
  get unreadBatches(): number {
    return this.#open === undefined ? 0 : this.#batches - this.#open.batch + 1;
  }

  /** @throws {WireError} or {FlatError} for a message that does not belong to a stream of bars. */
  take({ kind, header, body, offset }: ReadMessage): void {
    if (kind === "schema") {
      if (this.#schema !== undefined)
        throw new WireError("malformed", "Arrow stream has two schemas", offset);
      this.#schema = readKlineSchema(header, offset);
    } else if (this.#schema === undefined) {
      throw new WireError("malformed", "Arrow stream does not begin with a schema", offset);
    } else if (kind === "batch") this.#takeBatch(this.#schema, new ReadBatch(header, body), offset);
    else if (header.size(0) === this.#schema.dictionaryId) {
      const data = header.table(1);
      if (this.#names !== undefined || header.uint8(2) !== 0 || data === undefined)
        throw new WireError("wrong_shape", "Arrow stream changes its dictionary of symbols", offset);
      this.#names = this.#checked(new ReadBatch(data, body).texts(), offset);
    }
  }

  /** Returns the decoded bars; symbols without rows come last. @param bytes of the stream. */
  finish(bytes: number): DecodedDocument {
    if (this.#schema === undefined) throw new WireError("malformed", "Arrow stream has no schema", bytes);
    this.#close();
    const names = this.#names ?? [];
    for (const index of names.keys()) {
      if (this.#done.has(index)) continue;
      this.#open = this.#begin(index, bytes);
      this.#close();
    }
    return { ...this.#bars.finish(), named: new Set(names) };
  }

  #checked(names: readonly string[], offset: number): readonly string[] {
    if (names.length > this.#maxSymbols)
      throw new WireError("limit", `Arrow stream has more than ${this.#maxSymbols} symbols`, offset);
    if (new Set(names).size === names.length) return names;
    throw new WireError("malformed", "Arrow stream names a symbol twice", offset);
  }

  #takeBatch(schema: KlineSchema, batch: ReadBatch, offset: number): void {
    this.#batches += 1;
    const { values: indexes, nulls } = batch.column(schema.symbol, schema.Index);
    if (nulls > 0) throw new WireError("malformed", "Arrow stream has bars without a symbol", offset);
    const columns = new Map<string, Column>();
    for (const [name, place] of schema.columns)
      columns.set(name, batch.column<Float64Array | BigInt64Array>(place, typeOf(name)));
    for (let start = 0; start < batch.rows; ) {
      const index = indexes[start] as number;
      let end = start + 1;
      while (end < batch.rows && indexes[end] === index) end += 1;
      this.#add(index, { columns, start, end }, offset);
      start = end;
    }
  }

  #add(index: number, segment: Segment, offset: number): void {
    let open = this.#open;
    if (open?.index !== index) {
      this.#close();
      open = this.#begin(index, offset);
      this.#open = open;
    }
    // Bars beyond the limit are counted and dropped.
    if (open.isTaken && open.rows < this.#maxBars) open.segments.push(segment);
    open.rows += segment.end - segment.start;
  }

  #begin(index: number, offset: number): OpenSymbol {
    const name = this.#names?.[index];
    if (name === undefined) throw new WireError("malformed", "Arrow stream has bars of no symbol", offset);
    if (this.#done.has(index))
      throw new WireError("malformed", `Arrow stream goes back to ${name.slice(0, 64)}`, offset);
    this.#done.add(index);
    const strange = strangeSymbol(name, this.#requested, offset);
    if (strange !== undefined) this.#issues.add(strange);
    return { index, offset, isTaken: strange === undefined, segments: [], batch: this.#batches, rows: 0 };
  }

  /** Accepts the open symbol: its columns are whole. */
  #close(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined || !open.isTaken) return;
    const bars = this.#bars;
    bars.begin(this.#names?.[open.index] as string, open.offset);
    for (const name of WIRE_COLUMNS) {
      if (this.#schema?.columns.has(name) !== true || isVoid(open, name)) continue;
      bars.key(name, open.offset);
      bars.beginColumn();
      for (const { columns, start, end } of open.segments)
        this.#push(columns.get(name) as Column, start, end, open.offset);
      const accepted = open.segments.reduce((sum, { start, end }) => sum + end - start, 0);
      for (let row = accepted; row < open.rows; row++) bars.wrongType("a bar too many", open.offset);
    }
    bars.end();
  }

  /** Appends rows to the current column: stretches of good values at once, others one by one. */
  #push({ values, validity }: Column, start: number, end: number, offset: number): void {
    for (let at = start; at < end; ) {
      const most = Math.min(end, at + this.#bars.capacity);
      const good = nextDefect(values, validity, at, most);
      if (good > at) this.#bars.push(values.subarray(at, good));
      at = good;
      if (at === end) return;
      if (isPresent(validity, at)) this.#bars.number(NO_NUMBER, offset);
      else this.#bars.null(offset);
      at += 1;
    }
  }
}

function typeOf(name: string): typeof Float64Array | typeof BigInt64Array {
  return name === "timestamp" || name === "volume" ? BigInt64Array : Float64Array;
}

/** The first row from `start` on without a value that JSON can state; `end` if there is none. */
function nextDefect(
  values: Column["values"],
  validity: Uint8Array | undefined,
  start: number,
  end: number,
): number {
  let row = start;
  if (validity !== undefined) while (row < end && isSet(validity, row)) row += 1;
  const most = validity === undefined ? end : row;
  if (values instanceof BigInt64Array) return most;
  for (row = start; row < most; row++) if (!Number.isFinite(values[row])) return row;
  return most;
}

/** Whether a symbol has no value of an optional column: JSON leaves such a column out. */
function isVoid({ segments }: OpenSymbol, name: string): boolean {
  const isVoidIn = ({ columns, start, end }: Segment): boolean => {
    const { validity } = columns.get(name) as Column;
    return validity !== undefined && countZeros(validity, start, end) === end - start;
  };
  return OPTIONAL_COLUMNS.has(name) && segments.length > 0 && segments.every(isVoidIn);
}
