/** Bytes that are appended to and then handed over. Its buffer is zero where nothing was written. */
export class GrowingBytes {
  #bytes: Uint8Array;
  #length = 0;

  constructor(capacity: number) {
    this.#bytes = new Uint8Array(capacity);
  }

  /** All of the buffer, what is appended and what is not yet; replaced when it grows. */
  get bytes(): Uint8Array {
    return this.#bytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Makes room for so many bytes more, all 0. @returns where they begin. */
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

  /** Hands the bytes over, as a buffer that begins with them, and begins anew at their size. */
  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.#length);
    this.#bytes = new Uint8Array(this.#length);
    this.#length = 0;
    return taken;
  }
}
