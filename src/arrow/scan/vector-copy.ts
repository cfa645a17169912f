import duckdb from "@duckdb/node-bindings";
import { copyBits } from "../../core/bits.js";

/** Rows of a DuckDB vector: the most that one call of a table function may fill. */
export const VECTOR_ROWS = 2048;

/**
 * Copies `rows` fixed-width values into a DuckDB vector, from its row `at` on.
 *
 * This file is the only unsafe code of the project: the native call checks nothing, so every bound is checked here. A
 * vector has {@link VECTOR_ROWS} values; `values` must have at least `from + rows`.
 *
 * @throws {RangeError} when the copy would read or write outside.
 */
export function copyValues(
  target: duckdb.Vector,
  values: Float64Array | BigInt64Array | Int32Array | Uint32Array | Uint16Array | Uint8Array,
  from: number,
  rows: number,
  at = 0,
): void {
  checkBounds(from, rows, values.length, at);
  const width = values.BYTES_PER_ELEMENT;
  const offset = values.byteOffset + from * width;
  duckdb.copy_data_to_vector(target, at * width, values.buffer as ArrayBuffer, offset, rows * width);
}

/** Longest text that DuckDB stores in the vector itself (bytes). */
export const INLINE_TEXT_BYTES = 12;

/** 32-bit words of a text in a vector: its length and {@link INLINE_TEXT_BYTES} bytes, padded with zeros. */
const TEXT_WORDS = 4;

/**
 * Copies `rows` short texts into a DuckDB vector of texts, in the layout of `duckdb_string_t`.
 *
 * @param words {@link TEXT_WORDS} words per text.
 * @throws {RangeError} when the copy would read or write outside, or a text is too long: DuckDB would use its bytes as
 *   an address.
 */
function copyInlineTexts(target: duckdb.Vector, words: Uint32Array, rows: number): void {
  checkBounds(0, rows, Math.floor(words.length / TEXT_WORDS));
  for (let word = 0; word < rows * TEXT_WORDS; word += TEXT_WORDS) {
    const length = words[word] as number;
    if (length > INLINE_TEXT_BYTES)
      throw new RangeError(`copy of a text of ${length} bytes: a short one has ${INLINE_TEXT_BYTES}`);
  }
  const { buffer, byteOffset, BYTES_PER_ELEMENT } = words;
  duckdb.copy_data_to_vector(
    target,
    0,
    buffer as ArrayBuffer,
    byteOffset,
    rows * TEXT_WORDS * BYTES_PER_ELEMENT,
  );
}

/**
 * Marks the nulls of a DuckDB vector from an Arrow validity bitmap (bit `from + i` belongs to row `i`).
 *
 * @throws {RangeError} when the bitmap has fewer than `from + rows` bits, or the vector fewer than `rows` values.
 */
export function copyValidity(target: duckdb.Vector, bitmap: Uint8Array, from: number, rows: number): void {
  checkBounds(from, rows, bitmap.length * 8);
  const words = new Uint8Array(VECTOR_ROWS / 8).fill(0xff);
  copyBits(bitmap, from, rows, words, 0);
  duckdb.vector_ensure_validity_writable(target);
  duckdb.copy_data_to_vector_validity(target, 0, words.buffer, 0, words.length);
}

function checkBounds(from: number, rows: number, available: number, at = 0): void {
  if (![from, rows, at].every((value) => Number.isInteger(value) && value >= 0)) {
    throw new RangeError(`copy of ${rows} rows from ${from} to ${at}: must be whole numbers of at least 0`);
  }
  if (at + rows > VECTOR_ROWS)
    throw new RangeError(`copy of ${rows} rows to row ${at}: a vector has ${VECTOR_ROWS} rows`);
  if (from + rows > available) {
    throw new RangeError(`copy of rows ${from} to ${from + rows}: the column has ${available}`);
  }
}

/** A text as bytes and, if it is short, as the words of a vector's entry. */
interface EncodedText {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
}

/** The texts of one vector, which are few and repeat. */
export class TextVector {
  readonly #words = new Uint32Array(VECTOR_ROWS * TEXT_WORDS);
  readonly #encoded = new Map<string, EncodedText>();
  /** Texts that are too long to be stored in the vector itself, and their rows. */
  #long: { readonly bytes: Uint8Array; readonly start: number; readonly end: number }[] = [];
  /** The short text of all rows, if they have the same one. */
  #throughout: string | undefined;

  /** Sets the text of the rows from `start` to `end`, exclusive. */
  fill(text: string, start: number, end: number): void {
    if (text === this.#throughout) return;
    const { bytes, words } = this.#encode(text);
    const isShort = bytes.length <= INLINE_TEXT_BYTES;
    this.#throughout = isShort && start === 0 && end === VECTOR_ROWS ? text : undefined;
    if (!isShort) this.#long.push({ bytes, start, end });
    const [length, a, b, c] = words as unknown as [number, number, number, number];
    const target = this.#words;
    for (let word = start * TEXT_WORDS; word < end * TEXT_WORDS; word += TEXT_WORDS) {
      target[word] = length;
      target[word + 1] = a;
      target[word + 2] = b;
      target[word + 3] = c;
    }
  }

  /** Writes the first `rows` texts into a vector. */
  copyTo(target: duckdb.Vector, rows: number): void {
    copyInlineTexts(target, this.#words, rows);
    for (const { bytes, start, end } of this.#long) {
      for (let row = start; row < end; row++) duckdb.vector_assign_string_element_len(target, row, bytes);
    }
    this.#long = [];
  }

  #encode(text: string): EncodedText {
    const known = this.#encoded.get(text);
    if (known !== undefined) return known;
    const bytes = new TextEncoder().encode(text);
    const words = new Uint32Array(TEXT_WORDS);
    if (bytes.length <= INLINE_TEXT_BYTES) {
      words[0] = bytes.length;
      new Uint8Array(words.buffer).set(bytes, 4);
    }
    const encoded = { bytes, words };
    this.#encoded.set(text, encoded);
    return encoded;
  }
}
