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
