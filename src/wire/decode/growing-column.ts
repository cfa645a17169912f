import { int64At, isSet, putBit, setInt64 } from "../../core/bits.js";
import { freeMemory } from "../../core/memory-pool.js";
import type { NumberColumn } from "../kline-columns.js";

const FIRST_CAPACITY = 4096;

/** Memory that all columns of nulls share. It is as long as the longest of these columns. */
let nothing = new Float64Array(0);
let nothingBits = new Uint8Array(0);

/**
 * A growing column of doubles, with Arrow's validity bitmap (1 = present) once it has a null. A column of only nulls
 * takes no memory, because most services leave out whole columns.
 */
export class GrowingDoubles {
  values = new Float64Array(0);
  length = 0;
  #bitmap: Uint8Array | undefined;
  /** Whether the bitmap is valid. If false, its content is from an earlier use. */
  #hasNulls = false;

  /** Whether there are only nulls. They are then counted, but not stored. */
  #isVoid = true;

  push(value: number): void {
    if (this.#isVoid) this.#begin();
    if (this.length === this.values.length) this.#grow(this.length + 1);
    if (this.#hasNulls) this.#mark(this.length, this.length + 1, true);
    this.values[this.length++] = value;
  }

  pushRun(run: Float64Array): void {
    if (this.#isVoid) this.#begin();
    const end = this.length + run.length;
    if (end > this.values.length) this.#grow(end);
    if (this.#hasNulls) this.#mark(this.length, end, true);
    if (run.length > 1) this.values.set(run, this.length);
    else if (run.length === 1) this.values[this.length] = run[0] as number;
    this.length = end;
  }

  /** Appends nulls. Their stored value is NaN. */
  pushNulls(count: number): void {
    if (count === 0) return;
    if (this.#isVoid) this.length += count;
    else this.#storeNulls(count);
  }

  move(from: number, to: number): void {
    if (this.#isVoid) return;
    this.values[to] = this.values[from] as number;
    if (this.#hasNulls) this.#mark(to, to + 1, this.#isPresent(from));
  }

  /** Reorders the entries from `start`: entry `start + k` gets the value of the former entry `order[k]`. */
  permute(start: number, order: Uint32Array): void {
    if (this.#isVoid) return;
    this.values.set(
      Float64Array.from(order, (from) => this.values[from] as number),
      start,
    );
    if (!this.#hasNulls) return;
    const present = Uint8Array.from(order, (from) => (this.#isPresent(from) ? 1 : 0));
    for (const [k, bit] of present.entries()) this.#mark(start + k, start + k + 1, bit === 1);
  }

  truncate(length: number): void {
    this.length = length;
    if (length > 0) return;
    this.#hasNulls = false;
    this.#isVoid = true;
  }

  /** The first `rows` entries. They are not copied, and must not be changed. */
  column(rows: number): NumberColumn {
    if (!this.#isVoid || rows === 0)
      return { values: this.values.subarray(0, rows), validity: this.#validity(rows) };
    if (nothing.length < rows) {
      nothing = new Float64Array(rows).fill(Number.NaN);
      nothingBits = new Uint8Array(Math.ceil(rows / 8));
    }
    return { values: nothing.subarray(0, rows), validity: nothingBits.subarray(0, Math.ceil(rows / 8)) };
  }

  #validity(rows: number): Uint8Array | undefined {
    if (!this.#hasNulls || this.#bitmap === undefined) return undefined;
    const bitmap = this.#bitmap.subarray(0, Math.ceil(rows / 8));
    const last = rows & 7;
    if (last !== 0) bitmap[rows >> 3] = (bitmap[rows >> 3] as number) & (0xff >> (8 - last));
    const isWhole = (byte: number, at: number): boolean =>
      byte === (at === rows >> 3 ? 0xff >> (8 - last) : 0xff);
    return bitmap.every(isWhole) ? undefined : bitmap;
  }

  #isPresent(index: number): boolean {
    return isSet(this.#bitmap as Uint8Array, index);
  }

  /** Stores the nulls that were only counted so far, because a value follows. */
  #begin(): void {
    const nulls = this.length;
    this.length = 0;
    this.#isVoid = false;
    if (nulls > 0) this.#storeNulls(nulls);
  }

  #storeNulls(count: number): void {
    const end = this.length + count;
    if (end > this.values.length) this.#grow(end);
    if (!this.#hasNulls) this.#beginNulls();
    this.#mark(this.length, end, false);
    this.values.fill(Number.NaN, this.length, end);
    this.length = end;
  }

  #beginNulls(): void {
    const bytes = Math.ceil(this.values.length / 8);
    if (this.#bitmap === undefined || this.#bitmap.length < bytes) this.#bitmap = new Uint8Array(bytes);
    this.#hasNulls = true;
    this.#mark(0, this.length, true);
  }

  /** Sets or clears the bits from `start` to `end`, exclusive. */
  #mark(start: number, end: number, present: boolean): void {
    const bitmap = this.#bitmap as Uint8Array;
    let bit = start;
    for (; bit < end && (bit & 7) !== 0; bit++) putBit(bitmap, bit, present);
    const whole = end & ~7;
    if (bit < whole) {
      bitmap.fill(present ? 0xff : 0, bit >> 3, whole >> 3);
      bit = whole;
    }
    for (; bit < end; bit++) putBit(bitmap, bit, present);
  }

  #grow(atLeast: number): void {
    const capacity = Math.max(atLeast, this.values.length * 2, FIRST_CAPACITY);
    this.values = resized(this.values, new Float64Array(capacity));
    if (this.#bitmap) this.#bitmap = resized(this.#bitmap, new Uint8Array(Math.ceil(capacity / 8)));
  }
}

/** A growing column of 64-bit integers. Small ones are written as two words, so that no BigInt is created for them. */
export class GrowingInt64 {
  values = new BigInt64Array(FIRST_CAPACITY);
  #words = new Uint32Array(this.values.buffer);
  length = 0;

  /** Appends an integer that a double represents exactly. */
  pushSmall(value: number): void {
    if (this.length === this.values.length) this.#grow(this.length + 1);
    setInt64(this.#words, this.length, value);
    this.length += 1;
  }

  pushRun(run: BigInt64Array): void {
    const end = this.length + run.length;
    if (end > this.values.length) this.#grow(end);
    this.values.set(run, this.length);
    this.length = end;
  }

  pushBig(value: bigint): void {
    if (this.length === this.values.length) this.#grow(this.length + 1);
    this.values[this.length++] = value;
  }

  move(from: number, to: number): void {
    this.#words[to * 2] = this.#words[from * 2] as number;
    this.#words[to * 2 + 1] = this.#words[from * 2 + 1] as number;
  }

  /** The entry as a double, which is exact up to 2^53. */
  at(index: number): number {
    return int64At(this.#words, index);
  }

  /** Whether the entries from `start` ascend strictly between `least` and `most`, as timestamps nearly always do. */
  ascendsWithin(start: number, least: number, most: number): boolean {
    const words = this.#words;
    let last = least - 1;
    for (let row = start; row < this.length; row++) {
      const value = int64At(words, row);
      if (value <= last) return false;
      last = value;
    }
    return last <= most;
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

  #grow(atLeast: number): void {
    this.values = resized(this.values, new BigInt64Array(Math.max(atLeast, this.values.length * 2)));
    this.#words = new Uint32Array(this.values.buffer);
  }
}

/** Moves values to larger memory, and frees that in which they were. */
function resized<T extends Float64Array | BigInt64Array | Uint8Array>(from: T, to: T): T {
  (to as Float64Array).set(from as Float64Array);
  freeMemory(from);
  return to;
}
