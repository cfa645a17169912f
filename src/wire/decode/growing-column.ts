import { type DecimalRun, decimalAt } from "./decimal-run.js";

const FIRST_CAPACITY = 4096;
const TWO_32 = 2 ** 32;

/** Doubles that grow by doubling, with a validity bitmap that exists only once a null was seen. */
export class GrowingDoubles {
  values = new Float64Array(FIRST_CAPACITY);
  length = 0;
  #nulls: Uint8Array | undefined;

  push(value: number): void {
    if (this.length === this.values.length) this.#grow(this.length + 1);
    this.values[this.length++] = value;
  }

  pushRun(run: DecimalRun): void {
    const end = this.length + run.length;
    if (end > this.values.length) this.#grow(end);
    const { values, length } = this;
    for (let k = 0; k < run.length; k++) values[length + k] = decimalAt(run, k);
    this.length = end;
  }

  /** Appends nulls; their value is NaN. */
  pushNulls(count: number): void {
    const end = this.length + count;
    if (end > this.values.length) this.#grow(end);
    this.#nulls ??= new Uint8Array(this.values.length);
    this.values.fill(Number.NaN, this.length, end);
    this.#nulls.fill(1, this.length, end);
    this.length = end;
  }

  /** Moves the entry at `from` to `to`. */
  move(from: number, to: number): void {
    this.values[to] = this.values[from] as number;
    if (this.#nulls) this.#nulls[to] = this.#nulls[from] as number;
  }

  /** Reorders the entries from `start` on: entry `start + k` becomes what `order[k]` was. */
  permute(start: number, order: Uint32Array): void {
    const values = Float64Array.from(order, (from) => this.values[from] as number);
    this.values.set(values, start);
    if (this.#nulls) {
      const nulls = this.#nulls;
      nulls.set(
        Uint8Array.from(order, (from) => nulls[from] as number),
        start,
      );
    }
  }

  truncate(length: number): void {
    if (this.#nulls) this.#nulls.fill(0, length, this.length);
    this.length = length;
  }

  /** Arrow's validity bitmap, or undefined where every entry is present. */
  validity(): Uint8Array | undefined {
    const nulls = this.#nulls;
    if (nulls === undefined || !nulls.subarray(0, this.length).includes(1)) return undefined;
    const bitmap = new Uint8Array(Math.ceil(this.length / 8));
    for (let i = 0; i < this.length; i++) {
      if (nulls[i] === 0) bitmap[i >> 3] = (bitmap[i >> 3] as number) | (1 << (i & 7));
    }
    return bitmap;
  }

  #grow(atLeast: number): void {
    const capacity = Math.max(atLeast, this.values.length * 2);
    this.values = resized(this.values, new Float64Array(capacity));
    if (this.#nulls) this.#nulls = resized(this.#nulls, new Uint8Array(capacity));
  }
}

/** 64-bit integers that grow by doubling; small ones are written as two words, so that none becomes a BigInt. */
export class GrowingInt64 {
  values = new BigInt64Array(FIRST_CAPACITY);
  #words = new Uint32Array(this.values.buffer);
  length = 0;

  /** Appends an integer that a double holds exactly. */
  pushSmall(value: number): void {
    if (this.length === this.values.length) this.#grow();
    const high = Math.floor(value / TWO_32);
    this.#words[this.length * 2] = value - high * TWO_32;
    this.#words[this.length * 2 + 1] = high >>> 0;
    this.length += 1;
  }

  /** Appends entries of a run from `start` on; returns the index of the first that is no integer, or the run's length. */
  pushRun(run: DecimalRun, start: number): number {
    const end = run.length;
    while (this.length + end - start > this.values.length) this.#grow();
    const words = this.#words;
    const { digits, scales } = run;
    let at = this.length * 2;
    let k = start;
    for (; k < end; k++) {
      let value = digits[k] as number;
      if (scales[k] !== 0) {
        value = decimalAt(run, k);
        if (!Number.isInteger(value)) break;
      }
      const high = Math.floor(value / TWO_32);
      words[at] = value - high * TWO_32;
      words[at + 1] = high >>> 0;
      at += 2;
    }
    this.length = at / 2;
    return k;
  }

  pushBig(value: bigint): void {
    if (this.length === this.values.length) this.#grow();
    this.values[this.length++] = value;
  }

  move(from: number, to: number): void {
    this.#words[to * 2] = this.#words[from * 2] as number;
    this.#words[to * 2 + 1] = this.#words[from * 2 + 1] as number;
  }

  /** The entry as a double; exact where it is at most 2^53. */
  at(index: number): number {
    return ((this.#words[index * 2 + 1] as number) | 0) * TWO_32 + (this.#words[index * 2] as number);
  }

  permute(start: number, order: Uint32Array): void {
    const values = BigInt64Array.from(
      { length: order.length },
      (_, k) => this.values[order[k] as number] as bigint,
    );
    this.values.set(values, start);
  }

  truncate(length: number): void {
    this.length = length;
  }

  #grow(): void {
    this.values = resized(this.values, new BigInt64Array(this.values.length * 2));
    this.#words = new Uint32Array(this.values.buffer);
  }
}

function resized<T extends Float64Array | BigInt64Array | Uint8Array>(from: T, to: T): T {
  (to as Float64Array).set(from as Float64Array);
  return to;
}
