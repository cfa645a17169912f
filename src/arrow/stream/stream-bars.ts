import { countZeros, isPresent, isSet } from "../../core/bits.js";
import { WireError } from "../../core/errors.js";
import type { IssueLog } from "../../core/issue.js";
import type { DecodedDocument } from "../../wire/decode/decoded-bars.js";
import type { KlineBuffers } from "../../wire/decode/kline-buffers.js";
import { type KlineExpectation, MAX_BARS, MAX_SYMBOLS } from "../../wire/decode/kline-expectation.js";
import { strangeSymbol } from "../../wire/decode/strange-symbol.js";
import { SymbolBars } from "../../wire/decode/symbol-bars.js";
import { OPTIONAL_COLUMNS, WIRE_COLUMNS } from "../../wire/kline-columns.js";
import { type KlineSchema, readKlineSchema } from "./kline-schema.js";
import type { ReadMessage } from "./message-reader.js";
import { type BatchColumn, ReadBatch } from "./read-batch.js";

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
