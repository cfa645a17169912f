import duckdb, { type Vector } from "@duckdb/node-bindings";
import type { Data, DataType } from "apache-arrow";
import { copyBits, isPresent } from "../../core/bits.js";
import { UsageError } from "../../core/errors.js";
import { dataOf } from "../column-batch.js";
import { INLINE_TEXT_BYTES } from "../scan/vector-copy.js";

/** Appends the rows from `from` to `from + count` of the opened vector. */
export type Append = (from: number, count: number) => void;

/** Collects a column's values from DuckDB's vectors in Arrow's layout, in buffers of its own. */
export interface ColumnBuilder {
  readonly type: DataType;
  /** Starts reading a vector of so many rows. @throws {UsageError} for a value that Arrow does not support. */
  open(vector: Vector, rows: number): Append;
  /** Bytes that the appended rows need. */
  readonly byteLength: number;
  /** Returns the rows appended since the last call, as Arrow data. */
  finish(): Data;
}

/** The validity bitmap of a vector; undefined where all rows have a value. */
export type Validity = Uint8Array | undefined;

export function validityOf(vector: Vector, rows: number): Validity {
  const bits: Uint8Array | null = duckdb.vector_get_validity(vector, Math.ceil(rows / 64) * 8);
  return bits ?? undefined;
}

export class ValidityBuilder {
  /** Created for the first vector that may have a null. */
  #bits: Uint8Array | undefined;
  #rows = 0;

  get rows(): number {
    return this.#rows;
  }

  append(validity: Validity, from: number, count: number): void {
    const rows = this.#rows + count;
    if (validity !== undefined || this.#bits !== undefined)
      copyBits(validity, from, count, this.#bitsFor(rows), this.#rows);
    this.#rows = rows;
  }

  /** @returns the number of rows, and their bits in Arrow's form; null if all are present. */
  finish(): { readonly length: number; readonly nullBitmap: Uint8Array | null } {
    const finished = {
      length: this.#rows,
      nullBitmap: this.#bits?.subarray(0, Math.ceil(this.#rows / 8)) ?? null,
    };
    this.#bits = undefined;
    this.#rows = 0;
    return finished;
  }

  #bitsFor(rows: number): Uint8Array {
    const bytes = Math.ceil(rows / 8);
    const bits = this.#bits;
    if (bits !== undefined && bits.length >= bytes) return bits;
    const larger = new Uint8Array(Math.max(bytes, (bits?.length ?? 0) * 2)).fill(0xff);
    if (bits !== undefined) larger.set(bits);
    this.#bits = larger;
    return larger;
  }
}

/** A growing buffer of bytes, zero where nothing was written. */
export class GrowingBytes {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
  }

  /** The whole buffer, including its unused end; replaced when it grows. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Appends so many bytes, all 0. @returns the offset at which they begin. */
  extend(count: number): number {
    const at = this.#length;
    const needed = at + count;
    if (needed > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
      larger.set(this.#bytes.subarray(0, at));
      this.#bytes = larger;
    }
    this.#length = needed;
    return at;
  }

  /** Returns the bytes, as a view of their buffer, and starts a new buffer of the same size. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = new Uint8Array(this.#length);
    this.#length = 0;
    return taken;
  }
}

/** Most bytes, and most elements, that 32-bit offsets can address. */
const MOST = 2 ** 31 - 1;

/** The end offset of each row of a column of variable width. */
export class OffsetsBuilder {
  readonly #bytes = new GrowingBytes(4);

  constructor() {
    this.#bytes.extend(4);
  }

  /** Appends so many rows. @returns the offsets, and the index at which the end offset of the first new row belongs. */
  extend(rows: number): { readonly offsets: Int32Array; readonly at: number } {
    const at = this.#bytes.extend(rows * 4) / 4;
    return { offsets: new Int32Array(this.#bytes.bytes.buffer, 0, at + rows), at };
  }

  get byteLength(): number {
    return this.#bytes.length;
  }

  finish(): Int32Array {
    const bytes = this.#bytes.take();
    this.#bytes.extend(4);
    return new Int32Array(bytes.buffer, 0, bytes.length / 4);
  }
}

/** @throws {UsageError} where 32-bit offsets are too small. */
export function checkReach(column: string, end: number): void {
  if (end <= MOST) return;
  throw new UsageError(`column ${column}: 2,048 rows have more than 2 GiB`, {
    hint: "ask for fewer or for shorter values",
  });
}

/** Appends the value of a vector's entry, the 16 bytes at `entry`, to `bytes`. */
type AppendBytes = (source: Uint8Array, entry: number, bytes: GrowingBytes) => void;

const ENTRY_BYTES = 16;

/** Collects values of variable width: texts, blobs, and other types that are written as text. */
export class TextBuilder implements ColumnBuilder {
  readonly #column: string;
  readonly type: DataType;
  readonly #append: AppendBytes;
  readonly #offsets = new OffsetsBuilder();
  readonly #bytes = new GrowingBytes(0);
  readonly #validity = new ValidityBuilder();

  /** @param column the name that errors use. */
  constructor(column: string, type: DataType, append: AppendBytes = appendText) {
    this.#column = column;
    this.type = type;
    this.#append = append;
  }

  open(vector: Vector, rows: number): Append {
    const validity = validityOf(vector, rows);
    const source = duckdb.vector_get_data(vector, rows * ENTRY_BYTES);
    return (from, count) => {
      const { offsets, at } = this.#offsets.extend(count);
      for (let row = 0; row < count; row++) {
        if (isPresent(validity, from + row)) this.#append(source, (from + row) * ENTRY_BYTES, this.#bytes);
        offsets[at + row] = this.#bytes.length;
      }
      checkReach(this.#column, this.#bytes.length);
      this.#validity.append(validity, from, count);
    };
  }

  get byteLength(): number {
    return this.#bytes.length + this.#offsets.byteLength;
  }

  finish(): Data {
    return dataOf({
      type: this.type,
      ...this.#validity.finish(),
      valueOffsets: this.#offsets.finish(),
      data: this.#bytes.take(),
    });
  }
}

/** A text or blob entry: 4 bytes of length, then itself if it is short, or its first 4 bytes and its address. */
function appendText(source: Uint8Array, entry: number, bytes: GrowingBytes): void {
  const [a = 0, b = 0, c = 0, d = 0] = [
    source[entry],
    source[entry + 1],
    source[entry + 2],
    source[entry + 3],
  ];
  const length = (a | (b << 8) | (c << 16) | (d << 24)) >>> 0;
  const at = bytes.extend(length);
  const target = bytes.bytes;
  if (length <= INLINE_TEXT_BYTES) {
    for (let byte = 0; byte < length; byte++) target[at + byte] = source[entry + 4 + byte] as number;
    return;
  }
  const address = source.byteOffset + entry + 8;
  target.set(duckdb.get_data_from_pointer(source.buffer as ArrayBuffer, address, length), at);
}

const HEX = Uint8Array.from("0123456789abcdef", (digit) => digit.charCodeAt(0));
const UUID_CHARACTERS = 36;
const UUID_HYPHENS = new Set([4, 6, 8, 10]);

/** A UUID as its 36 characters. DuckDB stores 128 bits, with the highest bit flipped so that UUIDs sort as integers. */
export function appendUuid(source: Uint8Array, entry: number, bytes: GrowingBytes): void {
  let at = bytes.extend(UUID_CHARACTERS);
  const target = bytes.bytes;
  for (let byte = 0; byte < 16; byte++) {
    const value = (source[entry + 15 - byte] as number) ^ (byte === 0 ? 0x80 : 0);
    if (UUID_HYPHENS.has(byte)) target[at++] = 0x2d;
    target[at++] = HEX[value >> 4] as number;
    target[at++] = HEX[value & 15] as number;
  }
}
