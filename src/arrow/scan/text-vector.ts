import duckdb from "@duckdb/node-bindings";
import { copyInlineTexts, INLINE_TEXT_BYTES, TEXT_WORDS, VECTOR_ROWS } from "./vector-copy.js";

/** A text as bytes and, if it is short, as the words of a vector's entry. */
interface EncodedText {
  readonly bytes: Uint8Array;
  readonly words: Uint32Array;
}

/** The texts of one vector, which are few and repeat. A class because it owns the vector's bytes. */
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
