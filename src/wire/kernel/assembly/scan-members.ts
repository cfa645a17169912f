import { HEAD_BYTES, HEADS, RECORD_ROWS, RECORDS, VALUES } from "./layout";
import { scanNumber } from "./scan-number";

const QUOTE: u8 = 0x22;
const COMMA: u8 = 0x2c;
const BACKSLASH: u8 = 0x5c;
const CLOSE: u8 = 0x5d;
/** `]}`, in the byte order of memory. */
const END: u16 = 0x7d5d;

/**
 * Reads members of an object whose values have the same form, from the quote of a name: `"name":{"a":[1,2],"b":[3,4]}`.
 * The bytes between the numbers must be those at HEADS, which are compared in one step, and all arrays of a member must
 * have the same length. It stops before a member that differs, and before one that is not completely in the input.
 *
 * @returns the number of members that were read. Their positions and lengths are at RECORDS; the values of all of them
 *   are at VALUES, with space for {@link RECORD_ROWS} values for each column.
 */
export function scanMembers(from: usize, end: usize, columns: usize): u32 {
  store<u8>(end, 0);
  let at = from;
  let rows: usize = 0;
  let record = RECORDS;
  while (rows < RECORD_ROWS) {
    const length = nameLength(at);
    if (length < 0) break;
    let next = at + 2 + <usize>length;
    let count: usize = 0;
    let column: usize = 0;
    for (; column < columns; column++) {
      const head = HEADS + column * HEAD_BYTES;
      if (!isHead(next, head)) break;
      next += <usize>load<u32>(head, 64);
      let out = VALUES + ((column * RECORD_ROWS + rows) << 3);
      const first = out;
      const last = VALUES + ((column * RECORD_ROWS + RECORD_ROWS) << 3);
      const isDouble = load<u32>(head, 68) != 0;
      let stop: usize = 0;
      while (out < last) {
        stop = isDouble ? scanNumber<f64>(next, out) : scanNumber<i64>(next, out);
        if (stop == 0) break;
        out += 8;
        next = stop + 1;
        if (load<u8>(stop) == CLOSE) break;
        stop = 0;
      }
      if (stop == 0) break;
      next = stop;
      const own = (out - first) >> 3;
      if (column == 0) count = own;
      else if (own != count) break;
    }
    if (column < columns || load<u16>(next) != END) break;
    next += 2;
    store<u32>(record, <u32>at);
    store<u32>(record, <u32>(at + 2 + <usize>length), 4);
    store<u32>(record, <u32>next, 8);
    store<u32>(record, <u32>count, 12);
    record += 16;
    rows += count;
    at = next + 1;
    if (load<u8>(next) != COMMA) break;
  }
  return <u32>((record - RECORDS) >> 4);
}

/** Length of the name whose quote is at an address, if it has at most 31 plain bytes; else -1. */
function nameLength(at: usize): i32 {
  if (load<u8>(at) != QUOTE) return -1;
  const a = v128.load(at, 1);
  const b = v128.load(at, 17);
  const quotes = either(i8x16.eq(a, i8x16.splat(QUOTE)), i8x16.eq(b, i8x16.splat(QUOTE)));
  if (quotes == 0) return -1;
  const length = ctz(quotes);
  // As signed bytes, bytes that are not ASCII are also less than the blank.
  const controls = either(i8x16.lt_s(a, i8x16.splat(0x20)), i8x16.lt_s(b, i8x16.splat(0x20)));
  const escapes = either(i8x16.eq(a, i8x16.splat(BACKSLASH)), i8x16.eq(b, i8x16.splat(BACKSLASH)));
  return ((controls | escapes) & (((<u32>1) << length) - 1)) == 0 ? <i32>length : -1;
}

function either(a: v128, b: v128): u32 {
  return <u32>i8x16.bitmask(a) | ((<u32>i8x16.bitmask(b)) << 16);
}

/** Whether the bytes equal those of a head, up to 32 of them. Other bytes are masked out. */
function isHead(at: usize, head: usize): bool {
  const a = v128.and(v128.xor(v128.load(at), v128.load(head)), v128.load(head, 32));
  const b = v128.and(v128.xor(v128.load(at, 16), v128.load(head, 16)), v128.load(head, 48));
  return !v128.any_true(v128.or(a, b));
}
