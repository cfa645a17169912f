import type { DuckDBResult } from "@duckdb/node-api";
import duckdb from "@duckdb/node-bindings";
import { Field, RecordBatch, Schema, Struct } from "apache-arrow";
import { buildColumn } from "./build-column.js";
import { type ColumnBuilder, dataOf } from "./column-builder.js";

/** Most rows of a batch, and the number of bytes after which it ends earlier. */
const BATCH_ROWS = 65_536;
const BATCH_BYTES = 32 * 2 ** 20;

/**
 * Reads a query's result as Arrow record batches while DuckDB computes it: of about 64k rows, fewer where values are
 * large. Memory contains one batch. {@link buildColumn} defines the types; repeated names get a number, as in DuckDB's
 * own files. An empty result is one batch without rows, so that its columns are known.
 *
 * Types are checked by the call itself, before the first batch is requested.
 *
 * @throws {UsageError} for a type, and later for a value, that Arrow does not support, naming the column.
 */
export function resultBatches(result: DuckDBResult): AsyncGenerator<RecordBatch, void, undefined> {
  const dictionaries = { next: 0 };
  const names = distinctNames(result.columnNames());
  const columns = names.map((name, index) => buildColumn(name, result.columnType(index), dictionaries));
  const schema = new Schema(columns.map(({ type }, index) => new Field(names[index] as string, type, true)));
  return readBatches(result, schema, columns);
}

async function* readBatches(
  result: DuckDBResult,
  schema: Schema,
  columns: readonly ColumnBuilder[],
): AsyncGenerator<RecordBatch, void, undefined> {
  let rows = 0;
  let isFirst = true;
  const finish = (): RecordBatch => {
    const children = columns.map((column) => column.finish());
    const type = new Struct(schema.fields);
    const batch = new RecordBatch(schema, dataOf({ type, length: rows, children }));
    [rows, isFirst] = [0, false];
    return batch;
  };
  for (;;) {
    const found = await result.fetchChunk();
    if (found === null || found.rowCount === 0) break;
    if (rows + found.rowCount > BATCH_ROWS) yield finish();
    for (const [index, column] of columns.entries())
      column.open(duckdb.data_chunk_get_vector(found.chunk, index), found.rowCount)(0, found.rowCount);
    rows += found.rowCount;
    if (columns.reduce((sum, { byteLength }) => sum + byteLength, 0) > BATCH_BYTES) yield finish();
  }
  if (rows > 0 || isFirst) yield finish();
}

/** Unique names: a second `close` becomes `close_1`. */
function distinctNames(names: readonly string[]): string[] {
  const taken = new Set(names);
  const seen = new Set<string>();
  return names.map((name) => {
    let distinct = name;
    for (let n = 1; seen.has(distinct) || (distinct !== name && taken.has(distinct)); n++)
      distinct = `${name}_${n}`;
    seen.add(distinct);
    return distinct;
  });
}
