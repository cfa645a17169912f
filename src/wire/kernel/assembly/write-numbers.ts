import { DIGITS, POINT, POWER_OF_TEN, TEXT, TEXT_END, VALUES, WITH_POINT } from "./layout";
import { fractionOf, hasShortestDigits, shortestDigits } from "./shortest-decimal";

/** Most digits after the point. With one digit before it and the point itself, they fill a vector. */
const MAX_SCALE: i32 = 14;
/** Most digits of a double that is written without computing its shortest decimal. */
const MAX_DIGITS: i32 = 15;
/** Whole numbers below this are exact in a double, and have at most 15 digits. */
const TOO_LARGE: f64 = 1e15;
/** Added to a double below 2^51, it moves the nearest integer into the lower bits. */
const TO_INTEGER: f64 = 4_503_599_627_370_496;
const INTEGER_BITS: u64 = (1 << 52) - 1;

const COMMA: u8 = 0x2c;
const MINUS: u8 = 0x2d;
const DOT: u8 = 0x2e;
const ZERO: u8 = 0x30;
/** Eight characters `0`. */
const ZEROS: u64 = 0x3030303030303030;
/** A point and a zero, in the byte order of memory. */
const DOT_ZERO: u16 = 0x302e;

/** Digits after the point that the last double with at most 15 digits needed. The next one usually needs no more. */
let scale: i32 = 0;

/**
 * Writes the values at VALUES from index `from` to `end`, each followed by a comma. Doubles are written as the shortest
 * decimal that reads back to them, with at least one digit after the point, so that readers can recognise their type. One
 * that is an integer of at most 15 digits divided by the power of ten that the last double needed is written directly.
 *
 * It stops before an integer with more than 15 digits, and before a double below 10^-6 or from 2^52.
 *
 * @returns the index at which it stopped; the end of the text is stored at TEXT_END.
 */
export function writeNumbers<T>(from: usize, end: usize): usize {
  let out = TEXT;
  let index = from;
  let digits = isFloat<T>() ? scale : 0;
  for (; index < end; index++) {
    let integer: u64;
    let whole: f64;
    let sign: u64;
    if (isFloat<T>()) {
      const value = load<f64>(VALUES + (index << 3));
      const size = abs(value);
      let shifted = shift(size, digits);
      if (!isShort(size, shifted, digits)) {
        if (hasShortestDigits(size)) {
          store<u8>(out, MINUS);
          out += <usize>(reinterpret<u64>(value) >> 63);
          const fraction = fractionOf(size);
          out = writeDecimal(shortestDigits(size, fraction), fraction, out);
          digits = nextScale(digits);
          continue;
        }
        if (size != 0) break;
        digits = 0;
        shifted = TO_INTEGER;
      }
      integer = reinterpret<u64>(shifted) & INTEGER_BITS;
      whole = shifted - TO_INTEGER;
      sign = reinterpret<u64>(value) >> 63;
    } else {
      const value = load<i64>(VALUES + (index << 3));
      integer = abs(value);
      if (integer >= <u64>TOO_LARGE) break;
      whole = <f64>integer;
      sign = <u64>value >> 63;
    }
    store<u8>(out, MINUS);
    out += <usize>sign;
    if (integer < 100_000_000 && digits < 8) {
      const bytes = eightDigits(integer);
      const point = 8 - digits;
      const first = min(<i32>ctz(bytes) >> 3, point - 1);
      const length = point - first;
      const fraction = max(8 - (<i32>clz(bytes) >> 3) - point, 0);
      const text = (bytes | ZEROS) >> ((<u64>first) << 3);
      store<u64>(out, text);
      if (isFloat<T>()) {
        const rest = text >> ((<u64>length) << 3);
        store<u8>(out + <usize>length, DOT);
        store<u64>(out + <usize>length + 1, select<u64>(rest, ZERO, fraction > 0));
      }
      out += <usize>(length + (isFloat<T>() ? 1 + max(fraction, 1) : 0));
    } else {
      const upper = <u64>(<i64>(whole / 1e8));
      const bytes = i64x2.replace_lane(
        i64x2.splat(eightDigits(upper)),
        1,
        eightDigits(integer - upper * 100_000_000),
      );
      const significant = <u32>i8x16.bitmask(i8x16.ne(bytes, i8x16.splat(0)));
      const point = 16 - digits;
      const first = min(<i32>ctz(significant | 0x10000), point - 1);
      const length = point - first;
      const fraction = max(32 - <i32>clz(significant) - point, 0);
      const order = i8x16.add(v128.load((<usize>length) << 4, WITH_POINT), i8x16.splat(<i8>first));
      const text = i8x16.swizzle(i8x16.add(bytes, i8x16.splat(ZERO)), order);
      v128.store(out, v128.or(text, v128.load((<usize>length) << 4, POINT)));
      if (isFloat<T>() && fraction == 0) store<u16>(out + <usize>length, DOT_ZERO);
      out += <usize>(length + (isFloat<T>() ? 1 + max(fraction, 1) : 0));
    }
    store<u8>(out++, COMMA);
  }
  if (isFloat<T>()) scale = digits;
  store<u32>(TEXT_END, <u32>out);
  return index;
}

/** `size * 10^digits`, rounded to an integer, in the lower bits of a double. */
function shift(size: f64, digits: i32): f64 {
  return size * load<f64>((<usize>digits) << 3, POWER_OF_TEN) + TO_INTEGER;
}

/** Whether the result of {@link shift} reads back to the size, with at most 15 digits and no exponent. */
function isShort(size: f64, shifted: f64, digits: i32): bool {
  const whole = shifted - TO_INTEGER;
  return whole < TOO_LARGE && whole / load<f64>((<usize>digits) << 3, POWER_OF_TEN) == size && isPlain(size);
}

/** Whether ECMAScript writes the size without an exponent. Only small sizes are tested. */
function isPlain(size: f64): bool {
  return size >= 1e-6 || size == 0;
}

/** Digits before and after the point of the last number that {@link writeDecimal} wrote. */
let wholeDigits: i32 = 0;
let fractionDigits: i32 = 0;

/**
 * The scale for the double that follows the one that {@link writeDecimal} wrote. A double with more digits leaves it as
 * it was: of prices that were multiplied by a factor most need few digits, and those between them many.
 */
function nextScale(before: i32): i32 {
  const isShort = fractionDigits <= MAX_SCALE && wholeDigits + fractionDigits <= MAX_DIGITS;
  return isShort ? fractionDigits : before;
}

/**
 * Writes `number / 10^fraction` with a comma, without trailing zeros except one directly after the point.
 * @param number of at most 17 digits, not 0. @param fraction 1 to 22. @returns the end of the text.
 */
function writeDecimal(number: u64, fraction: i32, out: usize): usize {
  const rest = byHundredMillion(number);
  // The division is a product with the reciprocal, which is exact below 2^32.
  const upper = (rest * 1_441_151_881) >> 57;
  const bytesA = upper << 56;
  const bytesB = eightDigits(rest - upper * 100_000_000);
  const bytesC = eightDigits(number - rest * 100_000_000);
  store<u64>(DIGITS, bytesA | ZEROS);
  store<u64>(DIGITS + 8, bytesB | ZEROS);
  store<u64>(DIGITS + 16, bytesC | ZEROS);
  const first =
    bytesA != 0 ? ctz(bytesA) >> 3 : bytesB != 0 ? 8 + (ctz(bytesB) >> 3) : 16 + (ctz(bytesC) >> 3);
  const last =
    bytesC != 0 ? 23 - (clz(bytesC) >> 3) : bytesB != 0 ? 15 - (clz(bytesB) >> 3) : 7 - (clz(bytesA) >> 3);
  const point = 24 - fraction;
  const begin = min(<i32>first, point - 1);
  wholeDigits = point - begin;
  fractionDigits = max(<i32>last + 1 - point, 1);
  v128.store(out, v128.load(DIGITS + <usize>begin));
  const after = out + <usize>wholeDigits;
  store<u8>(after, DOT);
  const digits = DIGITS + <usize>point;
  v128.store(after + 1, v128.load(digits));
  store<u64>(after + 17, load<u64>(digits + 16));
  const end = after + 1 + <usize>fractionDigits;
  store<u8>(end, COMMA);
  return end + 1;
}

/**
 * A number below 2^57 divided by 10^8: a product of doubles, wrong by at most one, is quicker than a 64-bit division.
 */
function byHundredMillion(number: u64): u64 {
  const near = <i64>(<f64>(<i64>number) * 1e-8);
  const rest = <i64>number - near * 100_000_000;
  return <u64>(near + <i64>(rest >= 100_000_000) - <i64>(rest < 0));
}

/** A number below 10^8 as eight bytes of 0 to 9, one for each digit, with the first digit in the lowest byte. */
function eightDigits(number: u64): u64 {
  // The quotients by 10^4, 100 and 10 are products with reciprocals, which are exact for all possible inputs.
  const upper4 = (number * 109_951_163) >> 40;
  const fours = upper4 | ((number - upper4 * 10_000) << 32);
  const upper2 = ((fours * 5243) >> 19) & 0x0000007f_0000007f;
  const twos = upper2 | ((fours - upper2 * 100) << 16);
  const upper1 = ((twos * 103) >> 10) & 0x000f000f_000f000f;
  return upper1 | ((twos - upper1 * 10) << 8);
}
