import { LEAST_POWER_OF_FIVE, POWER_OF_FIVE, POWER_OF_TEN } from "./layout";

/**
 * Up to this, and powers of ten up to 10^22, integers are exact doubles: product and quotient are rounded only once.
 */
const EXACT: u64 = 1 << 53;

/** NaN means that the digits do not decide between two adjacent doubles, or that the result is not a normal double. */
const UNDECIDED: f64 = NaN;

/** The double nearest to `digits * 10^exponent`, with ties to even; or {@link UNDECIDED}. */
export function nearestDouble(digits: u64, exponent: i32): f64 {
  if (digits == 0) return 0;
  if (digits <= EXACT && exponent >= -22 && exponent <= 22) {
    return exponent < 0
      ? <f64>digits / load<f64>(POWER_OF_TEN + ((<usize>-exponent) << 3))
      : <f64>digits * load<f64>(POWER_OF_TEN + ((<usize>exponent) << 3));
  }
  if (exponent < LEAST_POWER_OF_FIVE || exponent > -LEAST_POWER_OF_FIVE) return UNDECIDED;
  return byPowerOfFive(digits, exponent);
}

/**
 * Multiplies by 128 bits of a power of five, and rounds: Daniel Lemire, "Number parsing at a gigabyte per second"
 * (Software: Practice and Experience 51, 2021), which needs no fallback for 64 bits of digits (Mushtak and Lemire,
 * "Fast number parsing without fallback", 2023).
 */
function byPowerOfFive(digits: u64, exponent: i32): f64 {
  const entry = POWER_OF_FIVE + ((<usize>(exponent - LEAST_POWER_OF_FIVE)) << 4);
  const shift = <u32>clz(digits);
  const w = digits << shift;
  const top = load<u64>(entry);
  let high = highProduct(w, top);
  let low = w * top;
  if ((high & 0x1ff) == 0x1ff) {
    const carry = highProduct(w, load<u64>(entry, 8));
    low += carry;
    if (low < carry) high++;
  }
  const upper = <u32>(high >> 63);
  let mantissa = high >> (upper + 9);
  // 217706 / 2^16 is slightly below log2(10), and exact enough for these exponents.
  let binary = ((217_706 * exponent) >> 16) + 63 + <i32>upper - <i32>shift + 1023;
  if (binary <= 0) return UNDECIDED;
  const halfway = low <= 1 && exponent >= -4 && exponent <= 23 && (mantissa & 3) == 1;
  if (halfway && mantissa << (upper + 9) == high) mantissa &= ~1;
  mantissa = (mantissa + (mantissa & 1)) >> 1;
  if (mantissa >= (<u64>2) << 52) {
    mantissa = (<u64>1) << 52;
    binary++;
  }
  if (binary >= 2047) return UNDECIDED;
  return reinterpret<f64>((mantissa & ~((<u64>1) << 52)) | ((<u64>binary) << 52));
}

/** The upper 64 bits of a 128-bit product. */
export function highProduct(a: u64, b: u64): u64 {
  const aLow = a & 0xffffffff;
  const aHigh = a >> 32;
  const bLow = b & 0xffffffff;
  const bHigh = b >> 32;
  const middle = aHigh * bLow + ((aLow * bLow) >> 32);
  const other = aLow * bHigh + (middle & 0xffffffff);
  return aHigh * bHigh + (middle >> 32) + (other >> 32);
}
