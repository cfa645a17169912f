import { INTEGER_POWER } from "./layout";
import { nearestDouble } from "./nearest-double";

/** Longest text of a number that is read here, in bytes. */
const MAX_BYTES: usize = 64;
/** The number of digits that always fit into 64 bits. */
const MAX_DIGITS: i32 = 19;

const SPACE: u32 = 0x20;
const COMMA: u32 = 0x2c;
const MINUS: u32 = 0x2d;
const PLUS: u32 = 0x2b;
const DOT: u32 = 0x2e;
const ZERO: u32 = 0x30;
const CLOSE: u32 = 0x5d;
const LETTER_E: u32 = 0x65;

function isSpace(byte: u32): bool {
  return byte == SPACE || byte == 0x0a || byte == 0x0d || byte == 0x09;
}

function isDigit(byte: u32): bool {
  return byte - ZERO < 10;
}

/**
 * Reads any JSON number that has a comma or a bracket after it, spaces around it included, and stores it at `out`. The
 * input must end with a byte that is not part of a number.
 *
 * @returns the address of the comma or bracket; 0 where there is no such number, or it cannot be read exactly here: it
 *   has more than 19 digits, is a double that is hard to round, or is not a 64-bit integer where an integer is read.
 */
export function scanNumber<T>(from: usize, out: usize): usize {
  let at = from;
  let byte: u32 = load<u8>(at);
  while (isSpace(byte)) byte = load<u8>(++at);
  const token = at;
  const negative = byte == MINUS;
  if (negative) byte = load<u8>(++at);

  let digits: u64 = 0;
  const whole = at;
  while (isDigit(byte)) {
    digits = digits * 10 + (byte - ZERO);
    byte = load<u8>(++at);
  }
  let count = <i32>(at - whole);
  if (count == 0 || (count > 1 && load<u8>(whole) == ZERO)) return 0;
  let exponent: i32 = 0;
  if (byte == DOT) {
    const fraction = ++at;
    byte = load<u8>(at);
    while (isDigit(byte)) {
      digits = digits * 10 + (byte - ZERO);
      byte = load<u8>(++at);
    }
    const scale = <i32>(at - fraction);
    if (scale == 0) return 0;
    exponent = -scale;
    count += scale;
  }
  if (count > MAX_DIGITS) {
    // Zeros before the first other digit are not counted.
    let zero = whole;
    while (load<u8>(zero) == ZERO || load<u8>(zero) == DOT) {
      if (load<u8>(zero) == ZERO) count--;
      zero++;
    }
    if (count > MAX_DIGITS) return 0;
  }
  if ((byte | 0x20) == LETTER_E) {
    byte = load<u8>(++at);
    const down = byte == MINUS;
    if (down || byte == PLUS) byte = load<u8>(++at);
    const first = at;
    let power: i32 = 0;
    while (isDigit(byte) && at - first < 6) {
      power = power * 10 + <i32>(byte - ZERO);
      byte = load<u8>(++at);
    }
    if (at == first) return 0;
    exponent += down ? -power : power;
  }
  if (at - token > MAX_BYTES) return 0;
  while (isSpace(byte)) byte = load<u8>(++at);
  if (byte != COMMA && byte != CLOSE) return 0;

  if (isFloat<T>()) {
    const value = nearestDouble(digits, exponent);
    if (value != value) return 0;
    store<f64>(out, negative ? -value : value);
    return at;
  }
  return storeInteger(digits, exponent, negative, out) ? at : 0;
}

/** Stores `digits * 10^exponent` if it is a 64-bit integer. @returns whether it is. */
function storeInteger(digits: u64, exponent: i32, negative: bool, out: usize): bool {
  let size = digits;
  if (exponent != 0 && size != 0) {
    if (exponent > 18 || exponent < -19) return false;
    const power = load<u64>(INTEGER_POWER + ((<usize>abs(exponent)) << 3));
    if (exponent < 0) {
      size = digits / power;
      if (size * power != digits) return false;
    } else {
      if (digits > <u64>i64.MAX_VALUE / power) return false;
      size = digits * power;
    }
  }
  if (size > <u64>i64.MAX_VALUE + <u64>negative) return false;
  store<u64>(out, negative ? 0 - size : size);
  return true;
}
