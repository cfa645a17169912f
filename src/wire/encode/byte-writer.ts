const TWO_32 = 2 ** 32;
const POWERS_OF_TEN = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000] as const;
/** Integers up to here are exact in a double. */
const MAX_EXACT = 2 ** 53;

const utf8 = new TextEncoder();

/** Says whether a size is a decimal of at most 15 digits, `scale` of them after the point. */
function isDecimal(size: number, scale: number): boolean {
  if (scale < 0) return false;
  const power = POWERS_OF_TEN[scale] as number;
  const scaled = Math.round(size * power);
  return scaled < 1e15 && scaled / power === size;
}

/** The fewest digits after the point that a size needs, or -1 where it is not a short decimal. */
function scaleOf(size: number): number {
  return POWERS_OF_TEN.findIndex((_, scale) => isDecimal(size, scale));
}

function digitsOf(whole: number): number {
  let digits = 1;
  for (let bound = 10; digits < 9 && whole >= bound; bound *= 10) digits += 1;
  return digits;
}

/** Appends JSON text to one growing buffer; numbers without a string each wherever they are short decimals. */
export class ByteWriter {
  #bytes: Uint8Array;
  #length = 0;
  /** Digits after the point that the last double needed, or -1: the next one of the column mostly needs as many. */
  #scale = 0;

  constructor(capacity = 65_536) {
    this.#bytes = new Uint8Array(capacity);
  }

  /** The bytes written so far; valid until the next write. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  get length(): number {
    return this.#length;
  }

  ascii(text: string): void {
    this.#reserve(text.length);
    for (let i = 0; i < text.length; i++) this.#bytes[this.#length++] = text.charCodeAt(i);
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  /** A JSON string, quoted and escaped. */
  jsonString(text: string): void {
    const bytes = utf8.encode(JSON.stringify(text));
    this.#reserve(bytes.length);
    this.#bytes.set(bytes, this.#length);
    this.#length += bytes.length;
  }

  /** The shortest decimal text that reads back to the same double. @throws {RangeError} when it is not finite. */
  double(value: number): void {
    if (!Number.isFinite(value)) throw new RangeError(`${value} has no JSON form`);
    const size = Math.abs(value);
    if (!isDecimal(size, this.#scale)) this.#scale = scaleOf(size);
    if (this.#scale < 0) return this.ascii(String(value));
    let scale = this.#scale;
    let whole = Math.round(size * (POWERS_OF_TEN[scale] as number));
    for (let tenth = whole / 10; scale > 0 && tenth === Math.floor(tenth); tenth /= 10) {
      whole = tenth;
      scale -= 1;
    }
    if (value < 0 || Object.is(value, -0)) this.byte(0x2d);
    this.#decimal(whole, scale);
  }

  /** The 64-bit integer whose little-endian words stand at `index` of an int64 array. */
  int64(values: BigInt64Array, words: Int32Array, index: number): void {
    const value = (words[index * 2 + 1] as number) * TWO_32 + ((words[index * 2] as number) >>> 0);
    if (Math.abs(value) >= MAX_EXACT) return this.ascii(String(values[index]));
    if (value < 0) this.byte(0x2d);
    this.#decimal(Math.abs(value), 0);
  }

  /** Digits of a whole number below 2^53, with a point before the last `fraction` of them. */
  #decimal(whole: number, fraction: number): void {
    this.#reserve(24);
    const bytes = this.#bytes;
    // Two parts of at most nine digits, so that the divisions are those of 32-bit integers.
    const high = Math.floor(whole / 1e9);
    let rest = (whole - high * 1e9) | 0;
    const digits = Math.max(fraction + 1, high > 0 ? 9 + digitsOf(high) : digitsOf(rest));
    let at = this.#length + digits + (fraction > 0 ? 1 : 0);
    this.#length = at;
    for (let i = 0; i < digits; i++) {
      if (i === 9) rest = high;
      if (i === fraction && i > 0) bytes[--at] = 0x2e;
      const tenth = (rest / 10) | 0;
      bytes[--at] = 0x30 + rest - tenth * 10;
      rest = tenth;
    }
  }

  #reserve(count: number): void {
    const needed = this.#length + count;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, this.#bytes.length * 2));
    grown.set(this.#bytes.subarray(0, this.#length));
    this.#bytes = grown;
  }
}
