import { KERNEL_BINARY } from "./kernel-binary.js";

/** Most columns of a member, and most bytes before the numbers of a column, that the kernel can read. */
const MOST_COLUMNS = 16;
const MOST_BYTES = 32;

/** The common form of members whose values are objects with the same arrays of numbers: `{"a":[1],"b":[2]}`. */
export interface MemberPattern {
  readonly columns: readonly {
    readonly type: "double" | "int64";
    /** The bytes before the first number: after the last number of the previous column, or after the member's name. */
    readonly head: Uint8Array;
  }[];
}

/**
 * The pattern of members with these arrays, in this order, without blanks; undefined where the kernel cannot read them.
 */
export function memberPattern(
  columns: readonly { readonly name: string; readonly type: "double" | "int64" }[],
): MemberPattern | undefined {
  const heads = columns.map(({ name, type }, index) => ({
    type,
    head: Buffer.from(`${index === 0 ? ":{" : "],"}${JSON.stringify(name)}:[`),
  }));
  const isTaken = heads.length <= MOST_COLUMNS && heads.every(({ head }) => head.length <= MOST_BYTES);
  return isTaken && heads.length > 0 ? { columns: heads } : undefined;
}

const LOW_WORD = 0xffff_ffff_ffff_ffffn;

/**
 * Fills a table with the leading 128 bits of 5^q for `least <= q <= -least`, the upper word of each first. They are
 * truncated, except for inverses of powers that fit into 64 bits, which are rounded up: then the product with the
 * digits of an exactly representable number is exact (Lemire, "Number parsing at a gigabyte per second", 2021).
 */
function fillPowersOfFive(table: BigUint64Array, least: number): void {
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

/** The parts of the global that are used, which Node's types do not declare. */
declare const WebAssembly: {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

/** Exports of the compiled module. Addresses are byte offsets in its memory. */
interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly INPUT: Place;
  readonly INPUT_BYTES: Place;
  readonly VALUES: Place;
  readonly RUN_VALUES: Place;
  readonly TEXT: Place;
  readonly TEXT_BYTES: Place;
  readonly TEXT_END: Place;
  readonly STOPPED_AT: Place;
  readonly CLOSED: Place;
  readonly POWER_OF_FIVE: Place;
  readonly LEAST_POWER_OF_FIVE: Place;
  readonly RECORDS: Place;
  readonly RECORD_ROWS: Place;
  readonly HEADS: Place;
  readonly HEAD_BYTES: Place;
  scanDoubles(from: number, end: number, maxCount: number): number;
  scanIntegers(from: number, end: number, maxCount: number): number;
  scanMembers(from: number, end: number, columns: number): number;
  writeDoubles(from: number, end: number): number;
  writeIntegers(from: number, end: number): number;
}

interface Place {
  readonly value: number;
}

/** Cached typed arrays over the beginning of a buffer, by length. */
class Prefixes<T extends Float64Array | BigInt64Array> {
  readonly #whole: T;
  readonly #made: T[] = [];

  constructor(whole: T) {
    this.#whole = whole;
  }

  of(length: number): T {
    return (this.#made[length] ??= this.#whole.subarray(0, length) as T);
  }
}

/**
 * Converts JSON numbers to values and back, many per call. Each thread has one kernel. A caller fills the buffers and
 * uses the result synchronously, before any other caller runs.
 */
class NumberKernel {
  readonly #exports: Exports;
  /** The bytes to scan, which the caller fills. */
  readonly input: Uint8Array;
  readonly #doubleRuns: Prefixes<Float64Array>;
  readonly #integerRuns: Prefixes<BigInt64Array>;
  readonly #words: Uint32Array;
  readonly #inputAt: number;
  readonly #textAt: number;
  readonly #text: Uint8Array;
  readonly #textEndWord: number;
  /** Most values that one call can process. */
  readonly most: number;
  readonly #stoppedWord: number;
  readonly #closedWord: number;
  readonly #records: Uint32Array;
  /** The pattern that is loaded at HEADS. */
  #pattern: MemberPattern | undefined;

  constructor(exports: Exports) {
    const { memory, INPUT, INPUT_BYTES, VALUES, RUN_VALUES } = exports;
    const { buffer } = memory;
    this.#exports = exports;
    this.#inputAt = INPUT.value;
    this.input = new Uint8Array(buffer, INPUT.value, INPUT_BYTES.value);
    this.most = RUN_VALUES.value;
    this.#doubleRuns = new Prefixes(new Float64Array(buffer, VALUES.value, this.most));
    this.#integerRuns = new Prefixes(new BigInt64Array(buffer, VALUES.value, this.most));
    this.#words = new Uint32Array(buffer, 0, 16);
    this.#stoppedWord = exports.STOPPED_AT.value / 4;
    this.#closedWord = exports.CLOSED.value / 4;
    this.#textEndWord = exports.TEXT_END.value / 4;
    this.#textAt = exports.TEXT.value;
    this.#text = new Uint8Array(buffer, this.#textAt, exports.TEXT_BYTES.value);
    this.#records = new Uint32Array(buffer, exports.RECORDS.value, exports.RECORD_ROWS.value * 4);
    const least = exports.LEAST_POWER_OF_FIVE.value;
    fillPowersOfFive(new BigUint64Array(buffer, exports.POWER_OF_FIVE.value, (1 - 2 * least) * 2), least);
  }

  /**
   * Reads at most `maxCount` elements of an array as doubles, from byte `from` of the input to `end`. It stops
   * (`stoppedAt`) after a comma, or at the bracket that closes the array (`closed`), or before an element that the
   * caller must read: not a number, incomplete, or hard to round.
   */
  scanDoubles(from: number, end: number, maxCount: number): Float64Array {
    const most = Math.min(maxCount, this.most);
    const count = this.#exports.scanDoubles(this.#inputAt + from, this.#inputAt + end, most);
    return this.#doubleRuns.of(count);
  }

  /** Like {@link scanDoubles}, for 64-bit integers; it also stops before a fraction or a larger integer. */
  scanIntegers(from: number, end: number, maxCount: number): BigInt64Array {
    const most = Math.min(maxCount, this.most);
    const count = this.#exports.scanIntegers(this.#inputAt + from, this.#inputAt + end, most);
    return this.#integerRuns.of(count);
  }

  get stoppedAt(): number {
    return (this.#words[this.#stoppedWord] as number) - this.#inputAt;
  }

  get closed(): boolean {
    return this.#words[this.#closedWord] !== 0;
  }

  /**
   * Reads members of an object, from the name at byte `from` of the input, as long as they match a pattern and are
   * complete before `end`. @returns their number.
   */
  scanMembers(from: number, end: number, pattern: MemberPattern): number {
    if (this.#pattern !== pattern) this.#loadPattern(pattern);
    return this.#exports.scanMembers(this.#inputAt + from, this.#inputAt + end, pattern.columns.length);
  }

  /** Index in the input at which a member of the last scan begins, with the quote of its name. */
  memberStart(index: number): number {
    return (this.#records[index * 4] as number) - this.#inputAt;
  }

  /** Index in the input at which the name of a member ends, after its quote. */
  memberNameEnd(index: number): number {
    return (this.#records[index * 4 + 1] as number) - this.#inputAt;
  }

  memberEnd(index: number): number {
    return (this.#records[index * 4 + 2] as number) - this.#inputAt;
  }

  /** Of each array of a member. */
  memberRows(index: number): number {
    return this.#records[index * 4 + 3] as number;
  }

  /** The values of a column in the first members of the last scan, in order; valid until the next call. */
  memberDoubles(column: number, rows: number): Float64Array {
    return new Float64Array(this.#words.buffer, this.#columnAt(column), rows);
  }

  /** Like {@link memberDoubles}, for 64-bit integers. */
  memberIntegers(column: number, rows: number): BigInt64Array {
    return new BigInt64Array(this.#words.buffer, this.#columnAt(column), rows);
  }

  #columnAt(column: number): number {
    const { VALUES, RECORD_ROWS } = this.#exports;
    return VALUES.value + column * RECORD_ROWS.value * 8;
  }

  #loadPattern(pattern: MemberPattern): void {
    const { HEADS, HEAD_BYTES } = this.#exports;
    for (const [index, { head, type }] of pattern.columns.entries()) {
      const at = HEADS.value + index * HEAD_BYTES.value;
      const bytes = new Uint8Array(this.#words.buffer, at, 64).fill(0);
      bytes.set(head);
      bytes.fill(0xff, 32, 32 + head.length);
      new Uint32Array(this.#words.buffer, at + 64, 2).set([head.length, type === "double" ? 1 : 0]);
    }
    this.#pattern = pattern;
  }

  /** Loads values, at most {@link most} of them, for {@link writeDoubles}. */
  loadDoubles(values: Float64Array): void {
    this.#doubleRuns.of(values.length).set(values);
  }

  /**
   * Writes the loaded values from index `from` to `end` as {@link text}, each followed by a comma: String(), with ".0"
   * if it has no point, and "-0.0". @returns the index at which it stopped: `end`, or that of a value with more than 15
   * digits, with an exponent, or not finite.
   */
  writeDoubles(from: number, end: number): number {
    return this.#exports.writeDoubles(from, end);
  }

  /** Like {@link loadDoubles}, for {@link writeIntegers}. */
  loadIntegers(values: BigInt64Array): void {
    this.#integerRuns.of(values.length).set(values);
  }

  /** Like {@link writeDoubles}, for 64-bit integers; it stops before an integer of more than 15 digits. */
  writeIntegers(from: number, end: number): number {
    return this.#exports.writeIntegers(from, end);
  }

  /** The text that the last call wrote; valid until the next call. */
  get text(): Uint8Array {
    return this.#text.subarray(0, (this.#words[this.#textEndWord] as number) - this.#textAt);
  }
}

const compiled = new WebAssembly.Module(Buffer.from(KERNEL_BINARY, "base64"));

/** The kernel of this thread. */
export const numberKernel = new NumberKernel(new WebAssembly.Instance(compiled).exports as Exports);
