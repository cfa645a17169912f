import { setImmediate } from "node:timers/promises";
import { type DuckDBMaterializedResult, type DuckDBResult, DuckDBTypeId } from "@duckdb/node-api";
import duckdb, { type DataChunk, type Vector } from "@duckdb/node-bindings";
import { copyBits, isAllNull } from "../../core/bits.js";

/** The arrays that a column of fixed width is read into, by its type in SQL: INTEGER, BIGINT, DOUBLE. */
interface ArrayOf {
  readonly int32: Int32Array;
  readonly int64: BigInt64Array;
  readonly double: Float64Array;
}
export type FixedType = keyof ArrayOf;

/**
 * Values of one column in Arrow's layout; `validity` has a bit a row (1 = present) and is absent if all are. A column
 * without any value has no `values` either.
 */
export interface ResultColumn<T extends FixedType> {
  readonly values: ArrayOf[T];
  readonly validity: Uint8Array | undefined;
}

/** A result as columns; each has `rows` values, or none. */
export interface ResultColumns<S extends Readonly<Record<string, FixedType>>> {
  readonly rows: number;
  readonly columns: { readonly [Name in keyof S]: ResultColumn<S[Name]> };
}

/** Makes an array, or one that looks at bytes which are there. */
type Make<T> = (rows: number) => T;
type View<T> = (bytes: ArrayBuffer, offset: number, rows: number) => T;

const TYPES: {
  readonly [T in FixedType]: {
    readonly id: DuckDBTypeId;
    readonly width: number;
    readonly array: Make<ArrayOf[T]>;
    readonly view: View<ArrayOf[T]>;
  };
} = {
  int32: {
    id: DuckDBTypeId.INTEGER,
    width: 4,
    array: (n) => new Int32Array(n),
    view: (bytes, at, n) => new Int32Array(bytes, at, n),
  },
  int64: {
    id: DuckDBTypeId.BIGINT,
    width: 8,
    array: (n) => new BigInt64Array(n),
    view: (bytes, at, n) => new BigInt64Array(bytes, at, n),
  },
  double: {
    id: DuckDBTypeId.DOUBLE,
    width: 8,
    array: (n) => new Float64Array(n),
    view: (bytes, at, n) => new Float64Array(bytes, at, n),
  },
};

/** Vectors read before others have their turn: less than a millisecond. */
const TURN_CHUNKS = 16;

/**
 * Reads a query's result into typed arrays, a vector at a time: no row object, no boxed value.
 *
 * The result is whole when this begins: DuckDB computes it with all its threads, where a streamed one waits for its
 * reader every few vectors.
 *
 * @param shape the result's columns, in its order, and the type of each.
 * @throws {TypeError} when the result has other columns, or a column another type.
 */
export async function readColumns<const S extends Readonly<Record<string, FixedType>>>(
  result: DuckDBMaterializedResult,
  shape: S,
): Promise<ResultColumns<S>> {
  checkShape(result, shape);
  const rows = result.rowCount;
  const columns = Object.values(shape).map((type) => new ColumnReader(type, rows));
  await eachChunk(result, (chunk, count) => {
    for (const [index, column] of columns.entries())
      column.take(duckdb.data_chunk_get_vector(chunk, index), count);
  });
  const named = Object.keys(shape).map((name, index) => [name, columns[index]?.column]);
  return { rows, columns: Object.fromEntries(named) as ResultColumns<S>["columns"] };
}

/** Some rows of a result, where DuckDB has them: gone when the next ones come. */
export interface ResultRows {
  readonly rows: number;
  /** Values of a column; of one without a value any may stand there. */
  values<T extends FixedType>(column: number, type: T): ArrayOf[T];
  /** Which rows of a column are there; a bit a row (1 = present), undefined if all are. */
  validity(column: number): Uint8Array | undefined;
}

/**
 * Gives a query's result some rows at a time, without a copy.
 *
 * @param shape as {@link readColumns} has it; the values are asked for by a column's number.
 * @throws {TypeError} likewise.
 */
export async function visitRows(
  result: DuckDBMaterializedResult,
  shape: Readonly<Record<string, FixedType>>,
  visit: (rows: ResultRows) => void,
): Promise<void> {
  checkShape(result, shape);
  await eachChunk(result, (chunk, rows) => {
    const vectorOf = (column: number): Vector => duckdb.data_chunk_get_vector(chunk, column);
    visit({
      rows,
      values(column, type) {
        const { buffer, byteOffset } = duckdb.vector_get_data(vectorOf(column), rows * TYPES[type].width);
        return TYPES[type].view(buffer as ArrayBuffer, byteOffset, rows);
      },
      validity: (column) =>
        duckdb.vector_get_validity(vectorOf(column), Math.ceil(rows / 64) * 8) ?? undefined,
    });
  });
}

async function eachChunk(
  result: DuckDBMaterializedResult,
  visit: (chunk: DataChunk, rows: number) => void,
): Promise<void> {
  const { chunkCount } = result;
  for (let at = 0; at < chunkCount; at++) {
    if (at % TURN_CHUNKS === TURN_CHUNKS - 1) await setImmediate();
    const { chunk, rowCount } = result.getChunk(at);
    visit(chunk, rowCount);
  }
}

function checkShape(result: DuckDBResult, shape: Readonly<Record<string, FixedType>>): void {
  const names = Object.keys(shape);
  const found = result.columnNames();
  if (names.length !== found.length || names.some((name, i) => name !== found[i])) {
    throw new TypeError(`result has the columns ${found.join(", ")}; expected ${names.join(", ")}`);
  }
  for (const [index, [name, type]] of Object.entries(shape).entries()) {
    const id = result.columnTypeId(index);
    if (id !== TYPES[type].id)
      throw new TypeError(`column ${name}: is ${DuckDBTypeId[id]}; expected ${type}`);
  }
}

/** Puts a column's vectors one behind the other. */
class ColumnReader<T extends FixedType> {
  readonly #width: number;
  readonly #make: (rows: number) => ArrayOf[T];
  readonly #rows: number;
  /** Made for the first value that is there. */
  #values: ArrayOf[T] | undefined;
  #bytes: Uint8Array = new Uint8Array(0);
  #validity: Uint8Array | undefined;
  #read = 0;

  constructor(type: T, rows: number) {
    this.#width = TYPES[type].width;
    this.#make = TYPES[type].array;
    this.#rows = rows;
  }

  take(vector: Vector, rows: number): void {
    // DuckDB marks rows as Arrow does, and has no bits where all are present.
    const bits = duckdb.vector_get_validity(vector, Math.ceil(rows / 64) * 8) as Uint8Array | null;
    if (bits !== null) this.#validity ??= new Uint8Array(Math.ceil(this.#rows / 8)).fill(0xff);
    if (bits !== null && this.#validity) copyBits(bits, 0, rows, this.#validity, this.#read);
    if (bits === null || !isAllNull(bits, rows))
      this.#copy(duckdb.vector_get_data(vector, rows * this.#width));
    this.#read += rows;
  }

  #copy(bytes: Uint8Array): void {
    if (this.#values === undefined) {
      this.#values = this.#make(this.#rows);
      this.#bytes = new Uint8Array(this.#values.buffer);
    }
    this.#bytes.set(bytes, this.#read * this.#width);
  }

  get column(): ResultColumn<T> {
    return { values: this.#values ?? this.#make(0), validity: this.#validity };
  }
}
