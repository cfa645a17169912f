/**
 * 64-bit integers as pairs of 32-bit words, the low one first: bigints would be allocated for each value. All callers
 * use unsigned views, so that the JIT compiles these functions for one type of array.
 */
export const TWO_32 = 2 ** 32;

/** The words of a column of 64-bit integers, in the same memory. */
export function int64Words(values: BigInt64Array): Uint32Array {
  return new Uint32Array(values.buffer, values.byteOffset, values.length * 2);
}

/** The integer of a row as a double; exact up to 2^53. */
export function int64At(words: Uint32Array, row: number): number {
  return ((words[row * 2 + 1] as number) | 0) * TWO_32 + (words[row * 2] as number);
}

/** Writes an integer that a double holds exactly. */
export function setInt64(words: Uint32Array, row: number, value: number): void {
  const high = Math.floor(value / TWO_32);
  words[row * 2] = value - high * TWO_32;
  words[row * 2 + 1] = high >>> 0;
}
