import { copyBits, int64At, isAllNull } from "../../core/bits.js";
import { lowerBound } from "../../core/lower-bound.js";
import { BARS_1D } from "../../schema/bars.js";
import type { Column, ColumnType } from "../../schema/column.js";

/**
 * A block: bars of one symbol in one data file, column by column, so that one read of a file returns them all. It
 * begins with one byte for each column, the code of its form. A column whose values are all equal takes 8 bytes, one
 * whose values are all null takes none.
 */

/** A column of a block, and the width of its values in bytes. */
export interface BlockColumn {
  readonly name: string;
  readonly type: ColumnType;
  readonly width: 4 | 8;
}

const WIDTHS: Partial<Readonly<Record<ColumnType, 4 | 8>>> = {
  double: 8,
  int64: 8,
  timestamp: 8,
  int32: 4,
  date: 4,
  boolean: 4,
};

/** The columns of a block: those of both tables of bars that are in the data files, except the symbol. */
export const BLOCK_COLUMNS: readonly BlockColumn[] = BARS_1D.columns
  .filter(({ name }) => name !== "symbol" && !BARS_1D.partition.includes(name))
  .map(({ name, type }: Column) => ({ name, type, width: WIDTHS[type] ?? 8 }));

const indexOf = (name: string): number => BLOCK_COLUMNS.findIndex((column) => column.name === name);

/**
 * The columns by which rows are selected: trading dates in days since 1970-01-01, and instants in epoch microseconds.
 */
export const CHOOSE_BY = { day: indexOf("trade_date"), time: indexOf("timestamp") } as const;

/**
 * How the values of a column are written. `someNull`: the values, then a bit for each row that says whether it has one.
 */
const CODE = { plain: 0, constant: 1, allNull: 2, someNull: 3 } as const;
/** Bytes of the codes of all columns, padded to a multiple of 8. */
const HEADER_BYTES = Math.ceil(BLOCK_COLUMNS.length / 8) * 8;

const padded = (bytes: number): number => Math.ceil(bytes / 8) * 8;

/** The largest size in bytes of a block with this number of rows. */
export function mostBytes(rows: number): number {
  const valueBytes = BLOCK_COLUMNS.reduce((sum, { width }) => sum + padded(rows * width), 0);
  return HEADER_BYTES + valueBytes + BLOCK_COLUMNS.length * (padded(Math.ceil(rows / 8)) + 8);
}

/** The values of a column while a block is collected: their bytes, and which rows have a value. */
export interface ColumnValues {
  readonly bytes: Uint8Array;
  /** One bit for each row, 1 where the row has a value; all bits are 1 where `hasNulls` is false. */
  readonly validity: Uint8Array;
  readonly hasNulls: boolean;
}

/** Writes a block. @param target at least {@link mostBytes}. @returns the length of the block in bytes. */
export function encodeBlock(columns: readonly ColumnValues[], rows: number, target: Uint8Array): number {
  target.fill(0, 0, HEADER_BYTES);
  let at = HEADER_BYTES;
  const put = (bytes: Uint8Array): void => {
    target.set(bytes, at);
    const end = at + padded(bytes.length);
    target.fill(0, at + bytes.length, end);
    at = end;
  };
  for (const [index, { width }] of BLOCK_COLUMNS.entries()) {
    const { bytes, validity, hasNulls } = columns[index] as ColumnValues;
    const values = bytes.subarray(0, rows * width);
    if (hasNulls && isAllNull(validity, rows)) target[index] = CODE.allNull;
    else if (hasNulls) {
      target[index] = CODE.someNull;
      put(values);
      put(validity.subarray(0, Math.ceil(rows / 8)));
    } else if (isConstant(values, width)) {
      target[index] = CODE.constant;
      put(values.subarray(0, width));
    } else put(values);
  }
  return at;
}

/** Whether all values have the same bits. */
function isConstant(values: Uint8Array, width: 4 | 8): boolean {
  const words = new Int32Array(values.buffer, values.byteOffset, values.length / 4);
  const step = width / 4;
  for (let word = step; word < words.length; word++) if (words[word] !== words[word - step]) return false;
  return true;
}

/** Where the values of each column begin in a block, in bytes, followed by the length that the block should have. */
export function columnOffsets(block: Uint8Array, rows: number): readonly number[] {
  const offsets: number[] = [];
  let at = HEADER_BYTES;
  for (const [index, { width }] of BLOCK_COLUMNS.entries()) {
    offsets.push(at);
    const code = block[index];
    if (code === CODE.constant) at += 8;
    else if (code !== CODE.allNull) at += padded(rows * width);
    if (code === CODE.someNull) at += padded(Math.ceil(rows / 8));
  }
  return [...offsets, at];
}

/** Memory that is not cleared. It does not come from Buffer's pool. */
function newMemory(bytes: number): ArrayBuffer {
  return Buffer.allocUnsafeSlow(bytes).buffer;
}

/**
 * A column of a result, into which the values of blocks are copied. It has no memory until a block has a value of it.
 */
export class TargetColumn {
  #words: BigInt64Array | Int32Array = new Int32Array(0);
  #bytes = new Uint8Array(0);
  readonly #expected: number;
  readonly #take: (bytes: number) => ArrayBuffer;
  /** The index of the column in {@link BLOCK_COLUMNS}. */
  readonly index: number;
  readonly #width: number;
  /** One bit for each row, 1 where the row has a value; undefined where all rows have one. */
  validity: Uint8Array | undefined;

  /**
   * @param expected about how many rows the result has.
   * @param take returns memory of at least a number of bytes.
   */
  constructor(index: number, expected: number, take = newMemory) {
    this.#take = take;
    this.index = index;
    this.#width = (BLOCK_COLUMNS[index] as BlockColumn).width;
    this.#expected = expected;
  }

  get buffer(): ArrayBuffer {
    return this.#bytes.buffer;
  }

  /**
   * @param offset where the column's values begin in the block.
   * @param total rows of the block. @param from the first row of the block that is copied.
   * @param at the row of the result that the first copied row becomes.
   */
  take(
    block: Uint8Array,
    offset: number,
    total: number,
    { from, count, at }: { readonly from: number; readonly count: number; readonly at: number },
  ): void {
    const width = this.#width;
    const code = block[this.index];
    const hasNoValue = this.#bytes.length === 0;
    if (count === 0 || (hasNoValue && code === CODE.allNull)) return;
    this.#reserve(at + count);
    if (hasNoValue) this.#clear(0, at);
    if (code === CODE.allNull) this.#clear(at, count);
    else if (code === CODE.constant) {
      this.#bytes.set(block.subarray(offset, offset + width), at * width);
      this.#words.fill(this.#words[at] as never, at, at + count);
    } else
      this.#bytes.set(block.subarray(offset + from * width, offset + (from + count) * width), at * width);
    if (code !== CODE.someNull) return;
    const start = offset + padded(total * width);
    const bits = block.subarray(start, start + Math.ceil(total / 8));
    copyBits(bits, from, count, this.#bits(), at);
  }

  /** Call it after the last block. @param rows of the result. */
  end(rows: number): void {
    if (this.#bytes.length > 0 || rows === 0) return;
    this.#reserve(rows);
    this.#clear(0, rows);
  }

  /** Makes space for a number of rows. New memory is not cleared, because blocks write all rows of the result. */
  #reserve(rows: number): void {
    const capacity = this.#bytes.length / this.#width;
    if (rows <= capacity) return;
    const grown = Math.max(rows, capacity === 0 ? this.#expected : 2 * capacity);
    const buffer = this.#take(grown * this.#width);
    const bytes = new Uint8Array(buffer);
    bytes.set(this.#bytes);
    this.#bytes = bytes;
    this.#words = this.#width === 8 ? new BigInt64Array(buffer) : new Int32Array(buffer);
    if (this.validity === undefined) return;
    const { validity } = this;
    this.validity = undefined;
    this.#bits().set(validity);
  }

  #clear(at: number, count: number): void {
    if (count === 0) return;
    this.#words.fill((this.#width === 8 ? 0n : 0) as never, at, at + count);
    copyBits(new Uint8Array(Math.ceil(count / 8)), 0, count, this.#bits(), at);
  }

  #bits(): Uint8Array {
    const rows = this.#bytes.length / this.#width;
    this.validity ??= new Uint8Array(Math.ceil(rows / 64) * 8).fill(0xff);
    return this.validity;
  }
}

/** The first row of a block whose day or instant is not before a bound; the number of rows if there is none. */
export function firstRowFrom(
  block: Uint8Array,
  offset: number,
  rows: number,
  by: keyof typeof CHOOSE_BY,
  bound: number,
): number {
  const hasOneValue = block[CHOOSE_BY[by]] === CODE.constant;
  const { buffer, byteOffset } = block;
  const words = new Uint32Array(
    buffer,
    byteOffset + offset,
    (by === "day" ? 1 : 2) * (hasOneValue ? 1 : rows),
  );
  const valueAt = (row: number): number => (by === "day" ? (words[row] as number) | 0 : int64At(words, row));
  if (hasOneValue) return valueAt(0) < bound ? rows : 0;
  return lowerBound(0, rows, (row) => valueAt(row) >= bound);
}

/** A range of trading dates (days since 1970-01-01) or of instants (epoch microseconds); `to` is exclusive. */
export interface BarsRange {
  readonly from: number;
  readonly to: number;
}

export interface BarsDemand {
  /** The symbols, without repeats. The result is in their order. */
  readonly symbols: readonly string[];
  readonly by: "day" | "time";
  readonly rangeOf: (symbol: string) => BarsRange;
  /** The share of a larger result that this one is: it may read this share of the most bytes. @default 1 */
  readonly share?: number;
  readonly columns: ReadonlySet<string>;
  /** Returns memory of at least a number of bytes for a column. @default new memory */
  readonly take?: ((bytes: number) => ArrayBuffer) | undefined;
}

export interface BarsRun {
  readonly symbol: string;
  readonly region: string;
  /** The year, or the first day of the month in days since 1970-01-01. */
  readonly partition: number;
  readonly rows: number;
}

/** Bars in the order of the demand's symbols and, for each symbol, of time. */
export interface Bars {
  readonly rows: number;
  readonly runs: readonly BarsRun[];
  /** The requested columns, with space for `rows` values or more. */
  readonly columns: ReadonlyMap<string, TargetColumn>;
}
