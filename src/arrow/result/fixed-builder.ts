import duckdb, { type Vector } from "@duckdb/node-bindings";
import { type Vector as ArrowVector, Bool, type Data, type DataType, Null } from "apache-arrow";
import { isAllNull, isPresent, setBit } from "../../core/bits.js";
import {
  type Append,
  type ColumnBuilder,
  dataOf,
  type Validity,
  ValidityBuilder,
  validityOf,
} from "./column-builder.js";
import { GrowingBytes } from "./growing-bytes.js";

/** How values of a fixed width are converted. */
export interface FixedLayout {
  readonly type: DataType;
  /** Bytes of a value in DuckDB's vector. */
  readonly sourceWidth: number;
  /** Bytes of a value in Arrow. @default as in DuckDB */
  readonly width?: number;
  /**
   * Converts values to Arrow's wider form; both arrays begin with the first value. @default a copy
   *
   * The bytes of a null are arbitrary; its result is set to 0 afterwards.
   */
  readonly convert?: (source: Uint8Array, target: Uint8Array, count: number) => void;
  /** Changes values in place, and throws for a value that Arrow does not support. A null is 0. */
  readonly refine?: (values: Uint8Array, count: number) => void;
  /** The texts that the values are indexes of. */
  readonly dictionary?: ArrowVector;
}

/** Collects values of a fixed width, without creating an object for each. */
export class FixedBuilder implements ColumnBuilder {
  readonly type: DataType;
  readonly #layout: FixedLayout;
  readonly #width: number;
  readonly #values = new GrowingBytes(0);
  readonly #validity = new ValidityBuilder();

  constructor(layout: FixedLayout) {
    this.type = layout.type;
    this.#layout = layout;
    this.#width = layout.width ?? layout.sourceWidth;
  }

  open(vector: Vector, rows: number): Append {
    const { sourceWidth } = this.#layout;
    const validity = validityOf(vector, rows);
    const source = duckdb.vector_get_data(vector, rows * sourceWidth);
    const hasNoValue = validity !== undefined && isAllNull(validity, rows);
    return (from, count) => {
      const at = this.#values.extend(count * this.#width);
      if (!hasNoValue)
        this.#write(
          source.subarray(from * sourceWidth, (from + count) * sourceWidth),
          at,
          validity,
          from,
          count,
        );
      this.#validity.append(validity, from, count);
    };
  }

  #write(source: Uint8Array, at: number, validity: Validity, from: number, count: number): void {
    const width = this.#width;
    const target = this.#values.bytes.subarray(at, at + count * width);
    if (this.#layout.convert === undefined) target.set(source);
    else this.#layout.convert(source, target, count);
    if (validity !== undefined)
      for (let row = 0; row < count; row++)
        if (!isPresent(validity, from + row)) target.fill(0, row * width, (row + 1) * width);
    this.#layout.refine?.(target, count);
  }

  get byteLength(): number {
    return this.#values.length;
  }

  finish(): Data {
    const { type } = this;
    const bytes = this.#values.take();
    const Values = type.ArrayType as unknown as new (
      buffer: ArrayBufferLike,
      byteOffset: number,
      length: number,
    ) => Int32Array;
    const width = (type.ArrayType as unknown as Int32ArrayConstructor).BYTES_PER_ELEMENT;
    const data = new Values(bytes.buffer, 0, bytes.length / width);
    return dataOf({ type, ...this.#validity.finish(), data, dictionary: this.#layout.dictionary });
  }
}

/** Collects booleans: one byte each in DuckDB, one bit in Arrow. */
export class BooleanBuilder implements ColumnBuilder {
  readonly type = new Bool();
  readonly #bits = new GrowingBytes(0);
  readonly #validity = new ValidityBuilder();

  open(vector: Vector, rows: number): Append {
    const validity = validityOf(vector, rows);
    const source = duckdb.vector_get_data(vector, rows);
    return (from, count) => {
      const first = this.#validity.rows;
      const bytes = Math.ceil((first + count) / 8);
      this.#bits.extend(bytes - this.#bits.length);
      const target = this.#bits.bytes;
      for (let row = 0; row < count; row++) {
        if (source[from + row] === 0 || !isPresent(validity, from + row)) continue;
        setBit(target, first + row);
      }
      this.#validity.append(validity, from, count);
    };
  }

  get byteLength(): number {
    return this.#bits.length;
  }

  finish(): Data {
    const data = this.#bits.take();
    return dataOf({ type: this.type, ...this.#validity.finish(), data });
  }
}

/** Collects rows of a column without a type, in which every value is null. */
export class NullBuilder implements ColumnBuilder {
  readonly type = new Null();
  #rows = 0;
  readonly byteLength = 0;

  open(): Append {
    return (_, count) => {
      this.#rows += count;
    };
  }

  finish(): Data {
    const data = dataOf({ type: this.type, length: this.#rows });
    this.#rows = 0;
    return data;
  }
}
