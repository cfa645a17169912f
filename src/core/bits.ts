/**
 * Bits as Arrow and DuckDB pack them: bit `i & 7` of byte `i >> 3` belongs to row `i`. In a validity bitmap 1 says that
 * the row has a value; without a bitmap all rows have one.
 */

export function isSet(bits: Uint8Array, row: number): boolean {
  return ((bits[row >> 3] as number) & (1 << (row & 7))) !== 0;
}

export function isPresent(validity: Uint8Array | undefined, row: number): boolean {
  return validity === undefined || isSet(validity, row);
}

export function setBit(bits: Uint8Array, row: number): void {
  bits[row >> 3] = (bits[row >> 3] as number) | (1 << (row & 7));
}

export function putBit(bits: Uint8Array, row: number, isOne: boolean): void {
  const mask = 1 << (row & 7);
  const byte = bits[row >> 3] as number;
  bits[row >> 3] = isOne ? byte | mask : byte & ~mask;
}

/** Says whether the first `rows` bits of an Arrow validity bitmap are all 0: every value is null. */
export function isAllNull(bitmap: Uint8Array, rows: number): boolean {
  const whole = rows >> 3;
  for (let byte = 0; byte < whole; byte++) if (bitmap[byte] !== 0) return false;
  return (rows & 7) === 0 || ((bitmap[whole] as number) & (0xff >> (8 - (rows & 7)))) === 0;
}

/** Counts the bits from `start` to `end`, exclusive. */
export function countZeros(bits: Uint8Array, start: number, end: number): number {
  let zeros = 0;
  for (let at = start; at < end; ) {
    const byte = bits[at >> 3] as number;
    if ((at & 7) === 0 && at + 8 <= end && (byte === 0 || byte === 0xff)) {
      if (byte === 0) zeros += 8;
      at += 8;
    } else {
      if (!isSet(bits, at)) zeros += 1;
      at += 1;
    }
  }
  return zeros;
}

/** Copies bits of a bitmap (undefined: all are 1) into another one, whose other bits do not change. */
export function copyBits(
  bitmap: Uint8Array | undefined,
  from: number,
  count: number,
  target: Uint8Array,
  at: number,
): void {
  let copied = 0;
  for (; copied < count && ((at + copied) & 7) !== 0; copied++) {
    copyBit(bitmap, from + copied, target, at + copied);
  }
  const shift = (from + copied) & 7;
  for (; copied + 8 <= count; copied += 8) {
    const byte = (from + copied) >> 3;
    target[(at + copied) >> 3] =
      bitmap === undefined
        ? 0xff
        : ((bitmap[byte] as number) >> shift) | ((bitmap[byte + 1] ?? 0) << (8 - shift));
  }
  for (; copied < count; copied++) copyBit(bitmap, from + copied, target, at + copied);
}

function copyBit(bitmap: Uint8Array | undefined, from: number, target: Uint8Array, at: number): void {
  putBit(target, at, isPresent(bitmap, from));
}

/** Texts in the order in which DuckDB and Parquet compare them: that of their bytes in UTF-8. */
export function inByteOrder(texts: Iterable<string>): string[] {
  return Array.from(texts, (text) => ({ text, bytes: Buffer.from(text) }))
    .sort((a, b) => Buffer.compare(a.bytes, b.bytes))
    .map(({ text }) => text);
}

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
