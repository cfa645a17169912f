import { INTEGER_POWER_OF_FIVE } from "./layout";
import { highProduct } from "./nearest-double";

/** Bounds of the doubles processed here. ECMAScript writes smaller ones with an exponent; larger ones are rare. */
const LEAST: f64 = 1e-6;
const BEYOND: f64 = 4_503_599_627_370_496;

/** 2^64 * 8 / 10, rounded up: the upper half of a product with it is eight tenths of the other factor, exactly. */
const EIGHT_TENTHS: u64 = 0xcccccccccccccccd;

const FRACTION_BITS: u64 = (1 << 52) - 1;

/** Whether {@link shortestDigits} can process a positive double: from 10^-6 to below 2^52. */
export function hasShortestDigits(size: f64): bool {
  return size >= LEAST && size < BEYOND;
}

/**
 * Number of digits after the point, including trailing zeros, of the result of {@link shortestDigits} for a double. One
 * step of the last digit is at most the distance of the double to its neighbours. The result is at most 22.
 */
export function fractionOf(size: f64): i32 {
  const bits = reinterpret<u64>(size);
  // log10(2) and log10(3/4), times 2^20. Below a power of two, doubles are twice as dense.
  return -((exponentOf(bits) * 315_653 - (isPowerOfTwo(bits) ? 131_008 : 0)) >> 20);
}

/**
 * The shortest decimal that reads back to a double, and of several the nearest one, as an integer, multiplied by
 * 10^{@link fractionOf}. Trailing zeros do not count as digits.
 *
 * The algorithm is that of Raffaello Giulietti, "The Schubfach way to render doubles" (2021). In the range processed
 * here, the products with a power of five fit into 128 bits, so no table of approximate powers is needed.
 */
export function shortestDigits(size: f64, fraction: i32): u64 {
  const bits = reinterpret<u64>(size);
  const mantissa = (bits & FRACTION_BITS) | (FRACTION_BITS + 1);
  const shift = <u64>-(exponentOf(bits) + fraction);
  const power = load<u64>(INTEGER_POWER_OF_FIVE + ((<usize>fraction) << 3));
  // Four times the double, and four times the bounds of the interval that is rounded to it.
  const four = mantissa << 2;
  const low = four * power;
  const high = highProductOfSmall(four, power);
  const step = power << 1;
  const down = isPowerOfTwo(bits) ? power : step;
  const value = shifted(high, low, shift);
  const odd = mantissa & 1;
  const least = shifted(high - <u64>(low < down), low - down, shift) + odd;
  const most = shifted(high + <u64>(low + step < low), low + step, shift) - odd;

  const whole = value >> 2;
  const tens = highProduct(whole, EIGHT_TENTHS) >> 3;
  const isTensIn = least <= 40 * tens;
  if (isTensIn != 40 * tens + 40 <= most) return isTensIn ? tens * 10 : tens * 10 + 10;
  const isIn = least <= whole << 2;
  if (isIn != (whole << 2) + 4 <= most) return isIn ? whole : whole + 1;
  const half = (whole << 2) + 2;
  return value < half || (value == half && (whole & 1) == 0) ? whole : whole + 1;
}

/** The exponent of a double as a 53-bit integer times a power of two. */
function exponentOf(bits: u64): i32 {
  return <i32>(bits >> 52) - 1075;
}

function isPowerOfTwo(bits: u64): bool {
  return (bits & FRACTION_BITS) == 0;
}

/** 128 bits shifted right. The last bit of the result is also set if any of the lost bits was set. */
function shifted(high: u64, low: u64, by: u64): u64 {
  const lost = low & (((<u64>1) << by) - 1);
  return (high << ((64 - by) & 63)) | (low >> by) | <u64>(lost != 0);
}

/** The upper 64 bits of a product of two numbers below 2^56: no sum of its parts needs more than 64 bits. */
function highProductOfSmall(a: u64, b: u64): u64 {
  const aLow = a & 0xffffffff;
  const aHigh = a >> 32;
  const bLow = b & 0xffffffff;
  const bHigh = b >> 32;
  return aHigh * bHigh + ((aHigh * bLow + aLow * bHigh + ((aLow * bLow) >> 32)) >> 32);
}
