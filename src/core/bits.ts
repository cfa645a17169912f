/**
 * Bits as Arrow and DuckDB pack them: bit `i & 7` of byte `i >> 3` belongs to row `i`. In a validity bitmap 1 says that
 * the row has a value; without a bitmap all rows have one.
 */

export function isSet(bits: Uint8Array, row: number): boolean {
  return ((bits[row >> 3] as number) & (1 << (row & 7))) !== 0;
}

/** Whether a row has a value. */
export function isPresent(validity: Uint8Array | undefined, row: number): boolean {
  return validity === undefined || isSet(validity, row);
}

/** Makes a bit 1. */
export function setBit(bits: Uint8Array, row: number): void {
  bits[row >> 3] = (bits[row >> 3] as number) | (1 << (row & 7));
}

/** Makes a bit 1 or 0. */
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

/** The number of bits from `start` to `end`, exclusive, that are 0. */
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

/**
 * Copies `count` bits of a bitmap, from bit `from` on, to bit `at` of another one, whose other bits do not change.
 *
 * @param bitmap undefined: all bits are 1.
 */
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
