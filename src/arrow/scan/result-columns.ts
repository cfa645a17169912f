import { type DuckDBDataChunk, type DuckDBResult, DuckDBTypeId } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";

/** The arrays that a column of fixed width is read into, by its type in SQL: INTEGER, BIGINT, DOUBLE. */
interface ArrayOf {
  readonly int32: Int32Array;
  readonly int64: BigInt64Array;
  readonly double: Float64Array;
}
type FixedType = keyof ArrayOf;

/** Values of one column in Arrow's layout; `validity` has a bit a row (1 = present) and is absent if all are. */
export interface ResultColumn<T extends FixedType> {
  readonly values: ArrayOf[T];
  readonly validity: Uint8Array | undefined;
}

/** A result as columns; each has `rows` values. */
export interface ResultColumns<S extends Readonly<Record<string, FixedType>>> {
  readonly rows: number;
  readonly columns: { readonly [Name in keyof S]: ResultColumn<S[Name]> };
}

const TYPES = {
  int32: { id: DuckDBTypeId.INTEGER, width: 4, array: (rows: number) => new Int32Array(rows) },
  int64: { id: DuckDBTypeId.BIGINT, width: 8, array: (rows: number) => new BigInt64Array(rows) },
  double: { id: DuckDBTypeId.DOUBLE, width: 8, array: (rows: number) => new Float64Array(rows) },
} as const;

/**
 * Reads a query's result into typed arrays, a vector at a time: no row object, no boxed value.
 *
 * @param shape the result's columns, in its order, and the type of each.
 * @throws {TypeError} when the result has other columns, or a column another type.
 */
export async function readColumns<const S extends Readonly<Record<string, FixedType>>>(
  result: DuckDBResult,
  shape: S,
): Promise<ResultColumns<S>> {
  checkShape(result, shape);
  const chunks: DuckDBDataChunk[] = [];
  let rows = 0;
  for (
    let chunk = await result.fetchChunk();
    chunk && chunk.rowCount > 0;
    chunk = await result.fetchChunk()
  ) {
    chunks.push(chunk);
    rows += chunk.rowCount;
  }
  const columns = Object.entries(shape).map(([name, type], index) => [
    name,
    gather(chunks, index, type, rows),
  ]);
  return { rows, columns: Object.fromEntries(columns) as ResultColumns<S>["columns"] };
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

function gather(
  chunks: readonly DuckDBDataChunk[],
  index: number,
  type: FixedType,
  rows: number,
): ResultColumn<FixedType> {
  const { width, array } = TYPES[type];
  const values = array(rows);
  const bytes = new Uint8Array(values.buffer);
  let validity: Uint8Array | undefined;
  let at = 0;
  for (const { chunk, rowCount } of chunks) {
    const vector = duckdb.data_chunk_get_vector(chunk, index);
    bytes.set(duckdb.vector_get_data(vector, rowCount * width).subarray(0, rowCount * width), at * width);
    const bits = duckdb.vector_get_validity(vector, Math.ceil(rowCount / 64) * 8) as Uint8Array | null;
    if (bits !== null && hasNull(bits, rowCount)) {
      validity ??= new Uint8Array(Math.ceil(rows / 8)).fill(0xff);
      clearNulls(validity, at, bits, rowCount);
    }
    at += rowCount;
  }
  return { values, validity };
}

/** DuckDB marks present rows as Arrow does: bit `row & 7` of byte `row >> 3`. */
const isNull = (bits: Uint8Array, row: number): boolean =>
  ((bits[row >> 3] as number) & (1 << (row & 7))) === 0;

function hasNull(bits: Uint8Array, rows: number): boolean {
  for (let row = 0; row < rows; row++) if (isNull(bits, row)) return true;
  return false;
}

function clearNulls(validity: Uint8Array, at: number, bits: Uint8Array, rows: number): void {
  for (let row = 0; row < rows; row++) {
    if (!isNull(bits, row)) continue;
    const bit = at + row;
    validity[bit >> 3] = (validity[bit >> 3] as number) & ~(1 << (bit & 7));
  }
}
