import { isAllNull } from "../core/bits.js";
import { DOUBLE_COLUMNS, type DoubleColumn, type KlineColumns, type NumberColumn } from "./kline-columns.js";

type Presence = "in each row" | "in some rows";

/** What the bytes of columns do not say of themselves: as JSON, it is stored beside them. */
export interface KlineLayout {
  readonly rows: number;
  readonly symbols: readonly string[];
  /** The columns of doubles that have a value, and whether each of their rows has one. */
  readonly doubles: Readonly<Partial<Record<DoubleColumn, Presence>>>;
}

export function klineLayout({ rows, symbols, doubles }: KlineColumns): KlineLayout {
  const present: Partial<Record<DoubleColumn, Presence>> = {};
  for (const name of DOUBLE_COLUMNS) {
    const { validity } = doubles[name];
    if (validity === undefined) present[name] = "in each row";
    else if (!isAllNull(validity, rows)) present[name] = "in some rows";
  }
  return { rows, symbols, doubles: present };
}

/**
 * The arrays of columns as bytes, as this machine has them: timestamps, volumes, doubles, the indexes of symbols, and one bit a
 * row for each column that has a value in some rows. The pieces are views of the arrays.
 */
export function* klinePieces(columns: KlineColumns, { rows, doubles }: KlineLayout): Generator<Uint8Array> {
  const present = DOUBLE_COLUMNS.filter((name) => doubles[name] !== undefined);
  yield bytesOf(columns.timestamp);
  yield bytesOf(columns.volume);
  for (const name of present) yield bytesOf(columns.doubles[name].values);
  yield bytesOf(columns.symbolIndex);
  for (const name of present) {
    const { validity } = columns.doubles[name];
    if (validity !== undefined) yield validity.subarray(0, bytesOfBits(rows));
  }
}

/**
 * Reads the bytes of {@link klinePieces}. The columns are views of `bytes`, if these begin at an address that 64-bit numbers may
 * have; a column without a value is null in all rows.
 *
 * @throws {TypeError} for fewer or more bytes than the columns have.
 */
export function klinesOf({ rows, symbols, doubles }: KlineLayout, bytes: Uint8Array): KlineColumns {
  const present = DOUBLE_COLUMNS.filter((name) => doubles[name] !== undefined);
  const partial = present.filter((name) => doubles[name] === "in some rows");
  const bitBytes = bytesOfBits(rows);
  const size = rows * (8 * (2 + present.length) + 4) + bitBytes * partial.length;
  if (bytes.length !== size) throw new TypeError(`columns of ${size} bytes: there are ${bytes.length}`);
  const { buffer, byteOffset } = bytes.byteOffset % 8 === 0 ? bytes : new Uint8Array(bytes);
  let end = byteOffset;
  /** The place of the next bytes. */
  const next = (length: number): number => (end += length) - length;
  const timestamp = new BigInt64Array(buffer, next(8 * rows), rows);
  const volume = new BigInt64Array(buffer, next(8 * rows), rows);
  const values = new Map(present.map((name) => [name, new Float64Array(buffer, next(8 * rows), rows)]));
  const symbolIndex = new Int32Array(buffer, next(4 * rows), rows);
  const validities = new Map(partial.map((name) => [name, new Uint8Array(buffer, next(bitBytes), bitBytes)]));
  const columns = DOUBLE_COLUMNS.map((name): [string, NumberColumn] => {
    const own = values.get(name);
    return own === undefined
      ? [name, { values: new Float64Array(rows).fill(Number.NaN), validity: new Uint8Array(bitBytes) }]
      : [name, { values: own, validity: validities.get(name) }];
  });
  const all = Object.fromEntries(columns) as KlineColumns["doubles"];
  return { rows, symbols, symbolIndex, timestamp, volume, doubles: all };
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** Bytes of one bit a row. */
function bytesOfBits(rows: number): number {
  return Math.ceil(rows / 8);
}
