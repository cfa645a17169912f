/*
 * The layout of the kernel's memory. All of it is fixed: nothing is ever allocated.
 *
 *   0       control   what a call reports in addition to its result
 *   64      tables    filled once, by the module itself and (powers of five) by its host
 *   16384   input     bytes of JSON to read from; reads go up to 64 bytes before and after what is asked for
 *   +256 K  values    what was read, or is to be written: 8 bytes each
 *   +...    text      bytes of JSON that were written
 *   +...    records   where members are that were read together
 *   +2 K    heads     the bytes between their numbers
 */

/** Most values that one call processes. */
export const RUN_VALUES: usize = 2048;
/** Most values in a window of 64 bytes. */
export const WINDOW_VALUES: usize = 32;

/** Address of the byte at which a scan stopped. */
export const STOPPED_AT: usize = 0;
/** Address of a flag: 1 where the last value of a scan was the last value of its array. */
export const CLOSED: usize = 4;
/** Address of the end of the written text. */
export const TEXT_END: usize = 8;

/** 16 bytes 0x00, then 16 bytes 0xff: a load at `TAIL_MASK + n` is a mask of the last n bytes of a vector. */
export const TAIL_MASK: usize = 64;
/** 10^(n - 1) as a double, for n from 1; 1 for n = 0, which means a number without a point. */
export const SCALE: usize = 128;
/** 10^n as a double, n up to 22. */
export const POWER_OF_TEN: usize = 320;
/** 10^n as a 64-bit integer, n up to 19. */
export const INTEGER_POWER: usize = 512;
/** Shuffles that remove a point which is n bytes before the end of a vector; n = 0: no point. */
export const WITHOUT_POINT: usize = 1024;
/** Shuffles that move a vector's bytes to its start, with a gap for a point after n bytes. */
export const WITH_POINT: usize = 1536;
/** Vectors that contain only a point, after n bytes. */
export const POINT: usize = 2048;
/** The 24 digits of a number that is being written, and the bytes after them that a vector load may read. */
export const DIGITS: usize = 2368;
/** 5^n as a 64-bit integer, n up to 22. */
export const INTEGER_POWER_OF_FIVE: usize = 2432;
/** 128 bits of 5^q, from q = {@link LEAST_POWER_OF_FIVE} to its negative. */
export const POWER_OF_FIVE: usize = 4096;
export const LEAST_POWER_OF_FIVE: i32 = -64;

export const INPUT: usize = 16_384;
export const INPUT_BYTES: usize = 262_144;
export const VALUES: usize = INPUT + INPUT_BYTES + 64;
export const TEXT: usize = VALUES + RUN_VALUES * 8 + 64;
/** Space for the texts of all values, at most 26 bytes each with its comma, and for the excess of a vector store. */
export const TEXT_BYTES: usize = RUN_VALUES * 26 + 64;

/** Most values of a column of members that are read together. With 16 columns they fill {@link VALUES}. */
export const RECORD_ROWS: usize = 128;
/** For each member: where its name begins, the byte after the name, the byte after the member, its number of values. */
export const RECORDS: usize = TEXT + TEXT_BYTES;
/**
 * For each column of such members: the bytes before its first number (up to 32), a mask of these bytes, their number,
 * and whether its numbers are doubles.
 */
export const HEADS: usize = RECORDS + RECORD_ROWS * 16;
export const HEAD_BYTES: usize = 72;

/** Fills the tables that need no arithmetic beyond 64 bits. */
export function fillTables(): void {
  memory.fill(TAIL_MASK, 0, 16);
  memory.fill(TAIL_MASK + 16, 0xff, 16);
  let power: f64 = 1;
  let integer: u64 = 1;
  let five: u64 = 1;
  store<f64>(SCALE, 1);
  for (let n: usize = 0; n <= 22; n++) {
    if (n < 22) store<f64>(SCALE + 8 + (n << 3), power);
    store<f64>(POWER_OF_TEN + (n << 3), power);
    if (n < 20) store<u64>(INTEGER_POWER + (n << 3), integer);
    store<u64>(INTEGER_POWER_OF_FIVE + (n << 3), five);
    power *= 10;
    integer *= 10;
    five *= 5;
  }
  for (let n: usize = 0; n <= 16; n++) {
    for (let at: usize = 0; at < 16; at++) {
      const moved: usize = n > 0 && at <= 16 - n ? at - 1 : at;
      store<u8>(WITHOUT_POINT + (n << 4) + at, <u8>moved);
      store<u8>(WITH_POINT + (n << 4) + at, <u8>(at < n ? at : at == n ? 0x80 : at - 1));
      store<u8>(POINT + (n << 4) + at, at == n ? 0x2e : 0);
    }
  }
}
