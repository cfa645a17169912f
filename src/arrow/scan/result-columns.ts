import { setImmediate } from "node:timers/promises";
import type { DuckDBDataChunk, DuckDBMaterializedResult, DuckDBResult } from "@duckdb/node-api";
import duckdb, { type DataChunk, type Vector } from "@duckdb/node-bindings";
import { copyBits, isAllNull } from "../../core/bits.js";
import { DuckDBTypeId } from "../duckdb-api.js";

/**
 * The arrays that columns of fixed width are read into: for the SQL types INTEGER, BIGINT and DOUBLE, DATE as days since
 * 1970-01-01, and BOOLEAN as 0 and 1.
 */
interface ArrayOf {
  readonly int32: Int32Array;
  readonly date: Int32Array;
  readonly boolean: Uint8Array;
  readonly int64: BigInt64Array;
  readonly double: Float64Array;
}
export type FixedType = keyof ArrayOf;

/**
 * Values of one column in Arrow's layout; `validity` has one bit per row (1 = present), and is undefined if all values
 * are present. A column of only nulls has no `values`.
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

/** Creates a view of existing bytes. */
type View<T> = (bytes: ArrayBuffer, offset: number, rows: number) => T;

const TYPES: {
  readonly [T in FixedType]: {
    readonly id: DuckDBTypeId;
    readonly width: number;
    readonly view: View<ArrayOf[T]>;
  };
} = {
  int32: {
    id: DuckDBTypeId.INTEGER,
    width: 4,
    view: (bytes, at, n) => new Int32Array(bytes, at, n),
  },
  date: {
    id: DuckDBTypeId.DATE,
    width: 4,
    view: (bytes, at, n) => new Int32Array(bytes, at, n),
  },
  boolean: {
    id: DuckDBTypeId.BOOLEAN,
    width: 1,
    view: (bytes, at, n) => new Uint8Array(bytes, at, n),
  },
  int64: {
    id: DuckDBTypeId.BIGINT,
    width: 8,
    view: (bytes, at, n) => new BigInt64Array(bytes, at, n),
  },
  double: {
    id: DuckDBTypeId.DOUBLE,
    width: 8,
    view: (bytes, at, n) => new Float64Array(bytes, at, n),
  },
};

/** Vectors read before the event loop can run other work: less than a millisecond. */
const TURN_CHUNKS = 16;

/**
 * Reads a query's result into typed arrays, one vector at a time: without row objects or boxed values.
 *
 * The result must be complete: DuckDB computes it with all its threads, whereas a streamed result waits for its reader
 * every few vectors.
 *
 * @param shape the result's columns, in its order, and the type of each.
 * @param take returns memory of at least a number of bytes for a column. @default new memory
 * @throws {TypeError} when the result has other columns, or a column has another type.
 */
export async function readColumns<const S extends Readonly<Record<string, FixedType>>>(
  result: DuckDBMaterializedResult,
  shape: S,
  take = (bytes: number): ArrayBuffer => new ArrayBuffer(bytes),
): Promise<ResultColumns<S>> {
  checkShape(result, shape);
  const rows = result.rowCount;
  const columns = Object.values(shape).map((type) => new ColumnReader(type, rows, take));
  await eachChunk(result, (chunk, count) => {
    for (const [index, column] of columns.entries())
      column.take(duckdb.data_chunk_get_vector(chunk, index), count);
  });
  const named = Object.keys(shape).map((name, index) => [name, columns[index]?.column]);
  return { rows, columns: Object.fromEntries(named) as ResultColumns<S>["columns"] };
}

export interface ResultTexts {
  /**
   * Four numbers for each row: DuckDB's own form of its text. Rows whose numbers are equal have equal texts, but not
   * the other way round.
   */
  readonly words: Int32Array;
  readonly textAt: (row: number) => string;
}

/** Some rows of a result, in DuckDB's memory: invalid as soon as the next rows are visited. */
export interface ResultRows {
  readonly rows: number;
  /** Values of a column; the values of nulls are undefined. */
  values<T extends FixedType>(column: number, type: T): ArrayOf[T];
  texts(column: number): ResultTexts;
  /** Which rows of a column are present; one bit per row (1 = present), undefined if all are. */
  validity(column: number): Uint8Array | undefined;
}

/**
 * Passes a query's streaming result to a visitor, one vector of rows at a time, without a copy. The memory that it
 * takes does not depend on the number of rows: of a complete result DuckDB has all rows, and frees them only when V8,
 * which does not know their size, collects the JavaScript object that owns them.
 *
 * @param shape as in {@link readColumns}; the visitor gets values by column number.
 * @throws {TypeError} as {@link readColumns}, and for a complete result; what the result throws where it stops before
 *   its end.
 */
export async function visitRows(
  result: DuckDBResult,
  shape: Readonly<Record<string, FixedType | "text">>,
  visit: (rows: ResultRows) => void | Promise<void>,
): Promise<void> {
  checkShape(result, shape);
  if (!result.isStreaming) throw new TypeError("result is complete; expected a streaming one");
  // The next rows are fetched, by another thread, while these are visited.
  const fetch = (): ReturnType<DuckDBResult["fetchChunk"]> => {
    const fetching = result.fetchChunk();
    fetching.catch(() => {});
    return fetching;
  };
  let next = fetch();
  try {
    for (;;) {
      const fetched = await next;
      if (fetched === null || fetched.rowCount === 0) return;
      next = fetch();
      const visited = visit(rowsOf(fetched));
      if (visited !== undefined) await visited;
    }
  } finally {
    await next.catch(() => {});
  }
}

function rowsOf({ chunk, rowCount: rows }: DuckDBDataChunk): ResultRows {
  const vectors: Vector[] = [];
  const vectorOf = (column: number): Vector => {
    vectors[column] ??= duckdb.data_chunk_get_vector(chunk, column);
    return vectors[column];
  };
  const views: ArrayBufferView[] = [];
  return {
    rows,
    texts(column) {
      const { buffer, byteOffset } = duckdb.vector_get_data(vectorOf(column), rows * TEXT_BYTES);
      const memory = buffer as ArrayBuffer;
      return {
        words: new Int32Array(memory, byteOffset, (rows * TEXT_BYTES) / 4),
        textAt: (row) => textAt(memory, byteOffset + row * TEXT_BYTES),
      };
    },
    values<T extends FixedType>(column: number, type: T) {
      // Each view of DuckDB's memory is an object that V8 collects with a call of its own.
      views[column] ??= viewOf(vectorOf(column), type, rows);
      return views[column] as ArrayOf[T];
    },
    validity: (column) => duckdb.vector_get_validity(vectorOf(column), Math.ceil(rows / 64) * 8) ?? undefined,
  };
}

function viewOf<T extends FixedType>(vector: Vector, type: T, rows: number): ArrayOf[T] {
  const { buffer, byteOffset } = duckdb.vector_get_data(vector, rows * TYPES[type].width);
  return TYPES[type].view(buffer as ArrayBuffer, byteOffset, rows);
}

/** Bytes of a text in a vector: its length, then the text itself if it has at most 12 bytes, else where it is. */
const TEXT_BYTES = 16;
const INLINE_BYTES = 12;
const utf8 = new TextDecoder();

function textAt(memory: ArrayBuffer, at: number): string {
  const length = new DataView(memory).getUint32(at, true);
  if (length <= INLINE_BYTES) return utf8.decode(new Uint8Array(memory, at + 4, length));
  return utf8.decode(duckdb.get_data_from_pointer(memory, at + 8, length));
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

function checkShape(result: DuckDBResult, shape: Readonly<Record<string, FixedType | "text">>): void {
  const names = Object.keys(shape);
  const found = result.columnNames();
  if (names.length !== found.length || names.some((name, i) => name !== found[i])) {
    throw new TypeError(`result has the columns ${found.join(", ")}; expected ${names.join(", ")}`);
  }
  for (const [index, [name, type]] of Object.entries(shape).entries()) {
    const id = result.columnTypeId(index);
    if (id !== (type === "text" ? DuckDBTypeId.VARCHAR : TYPES[type].id))
      throw new TypeError(`column ${name}: is ${DuckDBTypeId[id]}; expected ${type}`);
  }
}

class ColumnReader<T extends FixedType> {
  readonly #width: number;
  readonly #view: View<ArrayOf[T]>;
  readonly #rows: number;
  readonly #take: (bytes: number) => ArrayBuffer;
  /** Created for the first value that is present. */
  #bytes = new Uint8Array(0);
  #validity: Uint8Array | undefined;
  #read = 0;

  constructor(type: T, rows: number, take: (bytes: number) => ArrayBuffer) {
    this.#width = TYPES[type].width;
    this.#view = TYPES[type].view;
    this.#rows = rows;
    this.#take = take;
  }

  take(vector: Vector, rows: number): void {
    // DuckDB marks nulls as Arrow does, and has no bitmap where all rows are present.
    const bits = duckdb.vector_get_validity(vector, Math.ceil(rows / 64) * 8) as Uint8Array | null;
    if (bits !== null) this.#validity ??= new Uint8Array(Math.ceil(this.#rows / 8)).fill(0xff);
    if (bits !== null && this.#validity) copyBits(bits, 0, rows, this.#validity, this.#read);
    const [start, end] = [this.#read * this.#width, (this.#read + rows) * this.#width];
    if (bits === null || !isAllNull(bits, rows))
      this.#memory(start).set(duckdb.vector_get_data(vector, end - start), start);
    else if (this.#bytes.length > 0) this.#bytes.fill(0, start, end);
    this.#read += rows;
  }

  /** The memory of the values. @param start the first byte that is written; before it are nulls. */
  #memory(start: number): Uint8Array {
    if (this.#bytes.length === 0) {
      this.#bytes = new Uint8Array(this.#take(this.#rows * this.#width), 0, this.#rows * this.#width);
      this.#bytes.fill(0, 0, start);
    }
    return this.#bytes;
  }

  get column(): ResultColumn<T> {
    const { buffer, length } = this.#bytes;
    return { values: this.#view(buffer, 0, length / this.#width), validity: this.#validity };
  }
}
