/** A key as it is written in a document, and the key that followed it the last time. */
interface KnownKey {
  readonly text: string;
  /** The bytes of the key, with both quotes. */
  readonly bytes: Uint8Array;
  next: KnownKey | undefined;
}

/** Most keys that are cached. Members have few different names; symbols as names are many, and each occurs once. */
const MOST_KEYS = 32;
/** Longest key that is remembered, in bytes with its quotes. */
const MOST_BYTES = 64;

/**
 * Recognises the keys of one level of a document by their bytes. The objects of a level mostly have the same keys in
 * the same order, so the key that followed the last time is compared first; if it matches, it is neither scanned nor
 * decoded.
 */
export class KeySequence {
  readonly #known = new Map<string, KnownKey>();
  #last: KnownKey | undefined;

  /** The text of the key at `start`, if it is complete before `end` and the expected one. */
  match(bytes: Uint8Array, start: number, end: number): string | undefined {
    const expected = this.#last?.next;
    if (expected === undefined) return undefined;
    const own = expected.bytes;
    if (start + own.length > end) return undefined;
    for (let k = 0; k < own.length; k++) if (own[k] !== bytes[start + k]) return undefined;
    this.#last = expected;
    return expected.text;
  }

  /** Length in bytes, with quotes, of the key that {@link match} has just found. */
  get length(): number {
    return this.#last?.bytes.length ?? 0;
  }

  /** Stores a key that was read. It is expected again after the key that preceded it. */
  add(text: string, bytes: Uint8Array, start: number, end: number): void {
    let key = this.#known.get(text);
    if (key === undefined && this.#known.size < MOST_KEYS && end - start <= MOST_BYTES) {
      key = { text, bytes: bytes.slice(start, end), next: undefined };
      this.#known.set(text, key);
    }
    if (this.#last !== undefined) this.#last.next = key;
    this.#last = key;
  }
}
