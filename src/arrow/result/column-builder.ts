import duckdb, { type Vector } from "@duckdb/node-bindings";
import { type Vector as ArrowVector, type Data, type DataType, makeData } from "apache-arrow";
import { copyBits } from "../../core/bits.js";

/** Appends the rows from `from` to `from + count` of the opened vector. */
export type Append = (from: number, count: number) => void;

/** Collects a column's values from DuckDB's vectors in Arrow's layout, in buffers of its own. */
export interface ColumnBuilder {
  readonly type: DataType;
  /** Starts reading a vector of so many rows. @throws {UsageError} for a value that Arrow does not support. */
  open(vector: Vector, rows: number): Append;
  /** Bytes that the appended rows need. */
  readonly byteLength: number;
  /** Returns the rows appended since the last call, as Arrow data. */
  finish(): Data;
}

/** The validity bitmap of a vector; undefined where all rows have a value. */
export type Validity = Uint8Array | undefined;

export function validityOf(vector: Vector, rows: number): Validity {
  const bits: Uint8Array | null = duckdb.vector_get_validity(vector, Math.ceil(rows / 64) * 8);
  return bits ?? undefined;
}

/** Collects which rows of a column are present. */
export class ValidityBuilder {
  /** Created for the first vector that may have a null. */
  #bits: Uint8Array | undefined;
  #rows = 0;

  get rows(): number {
    return this.#rows;
  }

  append(validity: Validity, from: number, count: number): void {
    const rows = this.#rows + count;
    if (validity !== undefined || this.#bits !== undefined)
      copyBits(validity, from, count, this.#bitsFor(rows), this.#rows);
    this.#rows = rows;
  }

  /** @returns the number of rows, and their bits in Arrow's form; null if all are present. */
  finish(): { readonly length: number; readonly nullBitmap: Uint8Array | null } {
    const finished = {
      length: this.#rows,
      nullBitmap: this.#bits?.subarray(0, Math.ceil(this.#rows / 8)) ?? null,
    };
    this.#bits = undefined;
    this.#rows = 0;
    return finished;
  }

  #bitsFor(rows: number): Uint8Array {
    const bytes = Math.ceil(rows / 8);
    const bits = this.#bits;
    if (bits !== undefined && bits.length >= bytes) return bits;
    const larger = new Uint8Array(Math.max(bytes, (bits?.length ?? 0) * 2)).fill(0xff);
    if (bits !== undefined) larger.set(bits);
    this.#bits = larger;
    return larger;
  }
}

/** The buffers of a column, by the names that {@link makeData} uses. */
interface Buffers<T extends DataType> {
  readonly type: T;
  readonly length: number;
  readonly nullBitmap?: Uint8Array | null;
  readonly data?: ArrayBufferView;
  readonly valueOffsets?: Int32Array;
  readonly child?: Data;
  readonly children?: readonly Data[];
  readonly dictionary?: ArrowVector | undefined;
}

/** Calls {@link makeData}, which is declared for each type separately, for a column of any type. */
export function dataOf<T extends DataType>(buffers: Buffers<T>): Data<T> {
  return (makeData as unknown as (props: Buffers<T>) => Data<T>)(buffers);
}
