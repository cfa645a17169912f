import { CLOSED, SCALE, STOPPED_AT, TAIL_MASK, VALUES, WINDOW_VALUES, WITHOUT_POINT } from "./layout";
import { scanNumber } from "./scan-number";

const COMMA: u8 = 0x2c;
const DOT: u8 = 0x2e;
const ZERO: u8 = 0x30;
const CLOSE: u8 = 0x5d;

/** Number of bytes that are compared together. */
const WINDOW: usize = 64;

/**
 * Reads at most `maxCount` elements of an array that begins at `from`. It stops before an element that is not a number or
 * cannot be read exactly here, and where the input ends within an element: each must have a comma or the closing bracket
 * after it.
 *
 * @returns the number of values that were stored at VALUES. The address where it stopped is stored at STOPPED_AT.
 */
export function scanNumbers<T>(from: usize, end: usize, maxCount: u32): u32 {
  const limit = VALUES + ((<usize>maxCount) << 3);
  let at = from;
  let to = VALUES;
  store<u8>(end, 0);
  store<u32>(CLOSED, 0);
  while (at < end && to < limit) {
    const count = scanWindows<T>(at, end, to, limit);
    to += count << 3;
    at = load<u32>(STOPPED_AT);
    const windowEnd = at + WINDOW;
    while (at < windowEnd && to < limit) {
      const stop = scanNumber<T>(at, to);
      if (stop == 0) break;
      to += 8;
      at = stop + 1;
      if (load<u8>(stop) == CLOSE) {
        store<u32>(CLOSED, 1);
        at = stop;
        break;
      }
    }
    if (at < windowEnd) break;
  }
  store<u32>(STOPPED_AT, <u32>at);
  return <u32>((to - VALUES) >> 3);
}

/**
 * Reads numbers in one window of 64 bytes after the other, which begins with a number. Those whose comma is in the
 * window are read two at a time, without a branch for each. The grammar is checked on bitmaps of the window, one bit a
 * byte. It stops before a window that contains anything except short decimals, which {@link scanNumber} reads.
 */
function scanWindows<T>(from: usize, end: usize, out: usize, limit: usize): usize {
  let at = from;
  let to = out;
  while (at < end && to + WINDOW_VALUES * 8 <= limit) {
    const a = v128.load(at);
    const b = v128.load(at, 16);
    const c = v128.load(at, 32);
    const d = v128.load(at, 48);
    let commas = equal(a, b, c, d, COMMA);
    if (end - at < WINDOW) commas &= ((<u64>1) << (end - at)) - 1;
    if (commas == 0) break;
    const region = <u64>-1 >> clz(commas);
    const points = equal(a, b, c, d, DOT) & region;
    const digits = digitsIn(a, b, c, d);
    const others = region & ~(digits | points | commas);
    const bare = (points | commas) & ~(digits << 1);
    const leadingZeros = ((commas << 1) | 1) & equal(a, b, c, d, ZERO) & (digits >> 1) & region;
    // The subtraction borrows from each point up to the next comma. If a second point is between them, its bit is
    // already taken.
    const secondPoints = ((commas - points) & points) ^ points;
    const unfit = others | bare | leadingZeros | secondPoints | runsOf16(~commas & region);
    if (unfit != 0 || (isInteger<T>() && points != 0)) break;

    let first: usize = 0;
    let left = commas;
    do {
      const stopA = <usize>ctz(left);
      left &= left - 1;
      // If the number of values is odd, the last one is computed twice, but stored once.
      const single = left == 0;
      const stopB = select<usize>(stopA, <usize>ctz(left), single);
      left &= left - 1;
      const lengthA = stopA - first;
      const lengthB = select<usize>(lengthA, stopB - stopA - 1, single);
      first = stopB + 1;
      if (isFloat<T>()) {
        const pointA = pointBefore(points, stopA, lengthA);
        const pointB = pointBefore(points, stopB, lengthB);
        const halves = eightDigits(
          decimal(at + stopA, lengthA, pointA),
          decimal(at + stopB, lengthB, pointB),
        );
        const upper = f64x2.convert_low_i32x4_s(i32x4.shuffle(halves, halves, 0, 2, 0, 2));
        const lower = f64x2.convert_low_i32x4_s(i32x4.shuffle(halves, halves, 1, 3, 1, 3));
        const scaled = f64x2.add(f64x2.mul(upper, f64x2.splat(1e8)), lower);
        const powers = v128.load64_lane(pointB << 3, v128.load64_zero(pointA << 3, SCALE), 1, SCALE);
        v128.store(to, f64x2.div(scaled, powers));
      } else {
        const halves = eightDigits(integer(at + stopA, lengthA), integer(at + stopB, lengthB));
        const upper = i32x4.shuffle(halves, halves, 0, 2, 0, 2);
        const lower = i64x2.extend_low_i32x4_u(i32x4.shuffle(halves, halves, 1, 3, 1, 3));
        v128.store(to, i64x2.add(i64x2.extmul_low_i32x4_u(upper, i32x4.splat(100_000_000)), lower));
      }
      to += select<usize>(8, 16, single);
    } while (left != 0);
    at += first;
  }
  store<u32>(STOPPED_AT, <u32>at);
  return (to - out) >> 3;
}

/** How many bytes before `stop` the point of the number is that ends there; 0 where it has none. */
function pointBefore(points: u64, stop: usize, length: usize): usize {
  const distance = <usize>clz(points << (63 - stop));
  return select<usize>(distance, 0, distance < length);
}

/** Digits of the number that ends at `stop`, four in each lane, with the point removed. */
function decimal(stop: usize, length: usize, point: usize): v128 {
  const bytes = i8x16.sub(v128.load(stop - 16), i8x16.splat(ZERO));
  const joined = i8x16.swizzle(bytes, v128.load(point << 4, WITHOUT_POINT));
  return fourDigits(v128.and(joined, v128.load(length - <usize>(point != 0), TAIL_MASK)));
}

/** Digits of the number that ends at `stop`, four in each lane. */
function integer(stop: usize, length: usize): v128 {
  const bytes = i8x16.sub(v128.load(stop - 16), i8x16.splat(ZERO));
  return fourDigits(v128.and(bytes, v128.load(length, TAIL_MASK)));
}

/** Converts sixteen bytes of 0 to 9 to four lanes of 0 to 9999. */
function fourDigits(bytes: v128): v128 {
  const tens = i16x8.mul(v128.and(bytes, i16x8.splat(0xff)), i16x8.splat(10));
  return i32x4.dot_i16x8_s(i16x8.add(tens, i16x8.shr_u(bytes, 8)), i16x8(100, 1, 100, 1, 100, 1, 100, 1));
}

/** Converts two numbers, each of four lanes of 0 to 9999, to two lanes of 0 to 99999999 each. */
function eightDigits(a: v128, b: v128): v128 {
  return i32x4.dot_i16x8_s(i16x8.narrow_i32x4_u(a, b), i16x8(10_000, 1, 10_000, 1, 10_000, 1, 10_000, 1));
}

/** The bits whose next 15 higher bits are set as well. */
function runsOf16(bits: u64): u64 {
  let runs = bits & (bits >> 1);
  runs &= runs >> 2;
  runs &= runs >> 4;
  return runs & (runs >> 8);
}

/** One bit for each byte of a window: 1 where it equals the given byte. */
function equal(a: v128, b: v128, c: v128, d: v128, byte: u8): u64 {
  const pattern = i8x16.splat(byte);
  return bitmap(i8x16.eq(a, pattern), i8x16.eq(b, pattern), i8x16.eq(c, pattern), i8x16.eq(d, pattern));
}

/** One bit for each byte of a window: 1 where it is a digit. */
function digitsIn(a: v128, b: v128, c: v128, d: v128): u64 {
  const zero = i8x16.splat(ZERO);
  const nine = i8x16.splat(9);
  return bitmap(
    i8x16.le_u(i8x16.sub(a, zero), nine),
    i8x16.le_u(i8x16.sub(b, zero), nine),
    i8x16.le_u(i8x16.sub(c, zero), nine),
    i8x16.le_u(i8x16.sub(d, zero), nine),
  );
}

function bitmap(a: v128, b: v128, c: v128, d: v128): u64 {
  return (
    <u64>i8x16.bitmask(a) |
    ((<u64>i8x16.bitmask(b)) << 16) |
    ((<u64>i8x16.bitmask(c)) << 32) |
    ((<u64>i8x16.bitmask(d)) << 48)
  );
}
