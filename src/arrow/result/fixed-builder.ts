import duckdb, { type Vector } from "@duckdb/node-bindings";
import {
  type Vector as ArrowVector,
  Bool,
  type Data,
  type DataType,
  DateDay,
  Decimal,
  Float32,
  Float64,
  Int8,
  Int16,
  Int32,
  Int64,
  IntervalMonthDayNano,
  Null,
  TimeMicrosecond,
  TimeNanosecond,
  TimestampMicrosecond,
  TimestampMillisecond,
  TimestampNanosecond,
  TimestampSecond,
  Uint8,
  Uint16,
  Uint32,
  Uint64,
} from "apache-arrow";
import { isAllNull, isPresent, setBit } from "../../core/bits.js";
import { UsageError } from "../../core/errors.js";
import { dataOf } from "../column-batch.js";
import { DuckDBTypeId } from "../duckdb-api.js";
import {
  type Append,
  type ColumnBuilder,
  GrowingBytes,
  type Validity,
  ValidityBuilder,
  validityOf,
} from "./column-builder.js";

interface FixedLayout {
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

/** The layouts of types of fixed width, except decimals and enums; each gets the column's name for errors. */
const LAYOUTS: Partial<Readonly<Record<DuckDBTypeId, (column: string) => FixedLayout>>> = {
  [DuckDBTypeId.TINYINT]: () => ({ type: new Int8(), sourceWidth: 1 }),
  [DuckDBTypeId.SMALLINT]: () => ({ type: new Int16(), sourceWidth: 2 }),
  [DuckDBTypeId.INTEGER]: () => ({ type: new Int32(), sourceWidth: 4 }),
  [DuckDBTypeId.BIGINT]: () => ({ type: new Int64(), sourceWidth: 8 }),
  [DuckDBTypeId.UTINYINT]: () => ({ type: new Uint8(), sourceWidth: 1 }),
  [DuckDBTypeId.USMALLINT]: () => ({ type: new Uint16(), sourceWidth: 2 }),
  [DuckDBTypeId.UINTEGER]: () => ({ type: new Uint32(), sourceWidth: 4 }),
  [DuckDBTypeId.UBIGINT]: () => ({ type: new Uint64(), sourceWidth: 8 }),
  [DuckDBTypeId.FLOAT]: () => ({ type: new Float32(), sourceWidth: 4 }),
  [DuckDBTypeId.DOUBLE]: () => ({ type: new Float64(), sourceWidth: 8 }),
  [DuckDBTypeId.TIME]: () => ({ type: new TimeMicrosecond(), sourceWidth: 8 }),
  [DuckDBTypeId.TIME_NS]: () => ({ type: new TimeNanosecond(), sourceWidth: 8 }),
  [DuckDBTypeId.DATE]: (column) => ({ type: new DateDay(), sourceWidth: 4, refine: finiteDates(column) }),
  [DuckDBTypeId.TIMESTAMP]: (column) => instants(column, new TimestampMicrosecond()),
  [DuckDBTypeId.TIMESTAMP_TZ]: (column) => instants(column, new TimestampMicrosecond("UTC")),
  [DuckDBTypeId.TIMESTAMP_S]: (column) => instants(column, new TimestampSecond()),
  [DuckDBTypeId.TIMESTAMP_MS]: (column) => instants(column, new TimestampMillisecond()),
  [DuckDBTypeId.TIMESTAMP_NS]: (column) => instants(column, new TimestampNanosecond()),
  // A sum of BIGINT is a HUGEINT. Arrow has no such integer; unlike a double, a decimal has every digit.
  [DuckDBTypeId.HUGEINT]: (column) => ({
    type: new Decimal(0, 38),
    sourceWidth: 16,
    refine: withinDecimal(column, true),
  }),
  [DuckDBTypeId.UHUGEINT]: (column) => ({
    type: new Decimal(0, 38),
    sourceWidth: 16,
    refine: withinDecimal(column, false),
  }),
  [DuckDBTypeId.INTERVAL]: (column) => ({
    type: new IntervalMonthDayNano(),
    sourceWidth: 16,
    refine: nanosecondsOf(column),
  }),
};

export function fixedLayout(column: string, id: DuckDBTypeId): FixedLayout | undefined {
  return LAYOUTS[id]?.(column);
}

/** The layout of a decimal: 16, 32, 64 or 128 bits in DuckDB, 128 in Arrow. */
export function decimalLayout(width: number, scale: number): FixedLayout {
  const type = new Decimal(scale, width);
  if (width > 18) return { type, sourceWidth: 16 };
  if (width > 9) return { type, sourceWidth: 8, width: 16, convert: widenPairs };
  if (width > 4) return { type, sourceWidth: 4, width: 16, convert: widenWords(Int32Array) };
  return { type, sourceWidth: 2, width: 16, convert: widenWords(Int16Array) };
}

function wordsOf(bytes: Uint8Array, words: number): Int32Array {
  return new Int32Array(bytes.buffer, bytes.byteOffset, words);
}

function widenWords(
  Values: Int32ArrayConstructor | Int16ArrayConstructor,
): NonNullable<FixedLayout["convert"]> {
  return (source, target, count) => {
    const values = new Values(source.buffer as ArrayBuffer, source.byteOffset, count);
    const words = wordsOf(target, count * 4);
    for (let row = 0; row < count; row++) {
      const value = values[row] as number;
      words[row * 4] = value;
      words.fill(value >> 31, row * 4 + 1, row * 4 + 4);
    }
  };
}

function widenPairs(source: Uint8Array, target: Uint8Array, count: number): void {
  const pairs = wordsOf(source, count * 2);
  const words = wordsOf(target, count * 4);
  for (let row = 0; row < count; row++) {
    const high = pairs[row * 2 + 1] as number;
    words[row * 4] = pairs[row * 2] as number;
    words[row * 4 + 1] = high;
    words[row * 4 + 2] = high >> 31;
    words[row * 4 + 3] = high >> 31;
  }
}

type Refine = NonNullable<FixedLayout["refine"]>;

/** DuckDB's infinities: the largest number, and its negative. */
const [LARGEST, LEAST] = [0x7fffffff, -0x7fffffff];

function refuseInfinity(column: string): never {
  throw new UsageError(`column ${column}: has an infinite time, which Arrow has not`, {
    hint: "leave such rows out in the query: WHERE isfinite(...)",
  });
}

function finiteDates(column: string): Refine {
  return (values, count) => {
    const days = wordsOf(values, count);
    for (let row = 0; row < count; row++)
      if (days[row] === LARGEST || days[row] === LEAST) refuseInfinity(column);
  };
}

function instants(column: string, type: FixedLayout["type"]): FixedLayout {
  const refine: Refine = (values, count) => {
    const words = wordsOf(values, count * 2);
    for (let row = 0; row < count; row++) {
      const [low, high] = [words[row * 2], words[row * 2 + 1]];
      if ((high === LARGEST && low === -1) || (high === LEAST - 1 && low === 1)) refuseInfinity(column);
    }
  };
  return { type, sourceWidth: 8, refine };
}

/** The first integer with more than 38 digits, and its upper 32 bits. */
const BEYOND_DECIMAL = 10n ** 38n;
const BEYOND_WORD = Number(BEYOND_DECIMAL >> 96n);

function withinDecimal(column: string, isSigned: boolean): Refine {
  return (values, count) => {
    const words = wordsOf(values, count * 4);
    for (let row = 0; row < count; row++) {
      const word = words[row * 4 + 3] as number;
      const size = isSigned ? Math.abs(word) : word >>> 0;
      if (size < BEYOND_WORD) continue;
      const value = integerAt(words, row * 4, isSigned);
      if (value < BEYOND_DECIMAL && value > -BEYOND_DECIMAL) continue;
      throw new UsageError(`column ${column}: ${value} has more than the 38 digits of an Arrow decimal`, {
        hint: "cast it in the query, to DOUBLE or VARCHAR",
      });
    }
  };
}

function integerAt(words: Int32Array, at: number, isSigned: boolean): bigint {
  let bits = 0n;
  for (let word = 3; word >= 0; word--) bits = (bits << 32n) | BigInt((words[at + word] as number) >>> 0);
  return isSigned ? BigInt.asIntN(128, bits) : bits;
}

const MOST_MICROSECONDS = (2n ** 63n - 1n) / 1000n;

/** Converts intervals: months, days and microseconds in DuckDB, nanoseconds in Arrow. */
function nanosecondsOf(column: string): Refine {
  return (values, count) => {
    const parts = new BigInt64Array(values.buffer, values.byteOffset, count * 2);
    for (let part = 1; part < parts.length; part += 2) {
      const microseconds = parts[part] as bigint;
      if (microseconds > MOST_MICROSECONDS || microseconds < -MOST_MICROSECONDS) {
        throw new UsageError(`column ${column}: an interval has more nanoseconds than 64 bits hold`, {
          hint: "cast it to VARCHAR in the query",
        });
      }
      parts[part] = microseconds * 1000n;
    }
  };
}
