const LOW_WORD = 0xffff_ffff_ffff_ffffn;

/**
 * Fills a table with the leading 128 bits of 5^q for `least <= q <= -least`, the upper word of each first. They are
 * truncated, except for inverses of powers that fit into 64 bits, which are rounded up: then the product with the
 * digits of an exactly representable number is exact (Lemire, "Number parsing at a gigabyte per second", 2021).
 */
export function fillPowersOfFive(table: BigUint64Array, least: number): void {
  for (let q = least; q <= -least; q++) {
    const bits = q < 0 ? inverseBits(5n ** BigInt(-q)) : leadingBits(5n ** BigInt(q));
    table[(q - least) * 2] = bits >> 64n;
    table[(q - least) * 2 + 1] = bits & LOW_WORD;
  }
}

function leadingBits(power: bigint): bigint {
  const surplus = bitLength(power) - 128;
  return surplus > 0 ? power >> BigInt(surplus) : power << BigInt(-surplus);
}

function inverseBits(power: bigint): bigint {
  const quotient = (1n << BigInt(bitLength(power) + 127)) / power;
  return power <= LOW_WORD ? quotient + 1n : quotient;
}

function bitLength(value: bigint): number {
  return value.toString(2).length;
}
