import type { DuckDBResult, DuckDBType } from "@duckdb/node-api";
import duckdb, { type Vector } from "@duckdb/node-bindings";
import {
  Binary,
  type Data,
  type DataType,
  Dictionary,
  Field,
  FixedSizeList,
  List,
  Map_,
  RecordBatch,
  Schema,
  Struct,
  Uint8,
  Uint16,
  Uint32,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { isPresent } from "../../core/bits.js";
import { UsageError } from "../../core/errors.js";
import { dataOf } from "../column-batch.js";
import {
  DuckDBArrayType,
  DuckDBDecimalType,
  DuckDBEnumType,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  DuckDBTypeId,
} from "../duckdb-api.js";
import {
  type Append,
  appendUuid,
  type ColumnBuilder,
  checkReach,
  OffsetsBuilder,
  TextBuilder,
  ValidityBuilder,
  validityOf,
} from "./column-builder.js";
import { BooleanBuilder, decimalLayout, FixedBuilder, fixedLayout, NullBuilder } from "./fixed-builder.js";

/** 32-bit words of a list in a vector: the offset of its elements and their number, 64 bits each. */
const LIST_WORDS = 4;

/** Collects lists, and maps, which are lists of entries. */
class ListBuilder implements ColumnBuilder {
  readonly #column: string;
  readonly type: DataType;
  readonly #elements: ColumnBuilder;
  readonly #offsets = new OffsetsBuilder();
  readonly #validity = new ValidityBuilder();
  #length = 0;

  constructor(column: string, type: DataType, elements: ColumnBuilder) {
    this.#column = column;
    this.type = type;
    this.#elements = elements;
  }

  open(vector: Vector, rows: number): Append {
    const validity = validityOf(vector, rows);
    const source = duckdb.vector_get_data(vector, rows * LIST_WORDS * 4);
    const words = new Uint32Array(source.buffer, source.byteOffset, rows * LIST_WORDS);
    const append = this.#elements.open(
      duckdb.list_vector_get_child(vector),
      duckdb.list_vector_get_size(vector),
    );
    return (from, count) => {
      const { offsets, at } = this.#offsets.extend(count);
      // Lists with adjacent elements are appended together.
      let [start, end] = [0, 0];
      for (let row = 0; row < count; row++) {
        const word = (from + row) * LIST_WORDS;
        if (isPresent(validity, from + row)) {
          const [first, length] = [words[word] as number, words[word + 2] as number];
          if (first !== end && length > 0) {
            if (end > start) append(start, end - start);
            [start, end] = [first, first];
          }
          end += length;
          this.#length += length;
        }
        offsets[at + row] = this.#length;
      }
      if (end > start) append(start, end - start);
      checkReach(this.#column, this.#length);
      this.#validity.append(validity, from, count);
    };
  }

  get byteLength(): number {
    return this.#offsets.byteLength + this.#elements.byteLength;
  }

  finish(): Data {
    this.#length = 0;
    return dataOf({
      type: this.type,
      ...this.#validity.finish(),
      valueOffsets: this.#offsets.finish(),
      child: this.#elements.finish(),
    });
  }
}

/** Collects arrays: lists whose length is part of their type. */
class ArrayBuilder implements ColumnBuilder {
  readonly type: DataType;
  readonly #length: number;
  readonly #elements: ColumnBuilder;
  readonly #validity = new ValidityBuilder();

  constructor(type: DataType, length: number, elements: ColumnBuilder) {
    this.type = type;
    this.#length = length;
    this.#elements = elements;
  }

  open(vector: Vector, rows: number): Append {
    const validity = validityOf(vector, rows);
    const append = this.#elements.open(duckdb.array_vector_get_child(vector), rows * this.#length);
    return (from, count) => {
      append(from * this.#length, count * this.#length);
      this.#validity.append(validity, from, count);
    };
  }

  get byteLength(): number {
    return this.#elements.byteLength;
  }

  finish(): Data {
    return dataOf({
      type: this.type,
      ...this.#validity.finish(),
      child: this.#elements.finish(),
    });
  }
}

/** Collects structs: a column for each field. */
class StructBuilder implements ColumnBuilder {
  readonly type: DataType;
  readonly #fields: readonly ColumnBuilder[];
  readonly #validity = new ValidityBuilder();

  constructor(type: DataType, fields: readonly ColumnBuilder[]) {
    this.type = type;
    this.#fields = fields;
  }

  open(vector: Vector, rows: number): Append {
    const validity = validityOf(vector, rows);
    const appends = this.#fields.map((field, index) =>
      field.open(duckdb.struct_vector_get_child(vector, index), rows),
    );
    return (from, count) => {
      for (const append of appends) append(from, count);
      this.#validity.append(validity, from, count);
    };
  }

  get byteLength(): number {
    return this.#fields.reduce((sum, field) => sum + field.byteLength, 0);
  }

  finish(): Data {
    return dataOf({
      type: this.type,
      ...this.#validity.finish(),
      children: this.#fields.map((field) => field.finish()),
    });
  }
}

/**
 * Creates a builder for a column of any type that Arrow supports; its `type` is the Arrow type. Integers, floats, text,
 * blobs, decimals, dates and times have the same types; HUGEINT and UHUGEINT become decimal(38, 0), TIMESTAMP WITH TIME
 * ZONE a timestamp in UTC, UUID text, and an enum a dictionary.
 *
 * @param dictionaries counter of the dictionaries of one schema.
 * @throws {UsageError} for a type that Arrow does not support, naming the column.
 */
function buildColumn(column: string, type: DuckDBType, dictionaries: { next: number }): ColumnBuilder {
  const layout = fixedLayout(column, type.typeId);
  if (layout !== undefined) return new FixedBuilder(layout);
  const found = SCALARS[type.typeId]?.(column) ?? nestedColumn(column, type, dictionaries);
  if (found !== undefined) return found;
  throw new UsageError(`column ${column}: ${type.toString()} has no counterpart in Arrow`, {
    hint: "cast it to VARCHAR in the query",
  });
}

const SCALARS: Partial<Readonly<Record<DuckDBTypeId, (column: string) => ColumnBuilder>>> = {
  [DuckDBTypeId.SQLNULL]: () => new NullBuilder(),
  [DuckDBTypeId.BOOLEAN]: () => new BooleanBuilder(),
  [DuckDBTypeId.VARCHAR]: (column) => new TextBuilder(column, new Utf8()),
  [DuckDBTypeId.BLOB]: (column) => new TextBuilder(column, new Binary()),
  [DuckDBTypeId.UUID]: (column) => new TextBuilder(column, new Utf8(), appendUuid),
};

function nestedColumn(
  column: string,
  type: DuckDBType,
  dictionaries: { next: number },
): ColumnBuilder | undefined {
  const part = (name: string, of: DuckDBType): ColumnBuilder =>
    buildColumn(`${column}${name}`, of, dictionaries);
  if (type instanceof DuckDBDecimalType) return new FixedBuilder(decimalLayout(type.width, type.scale));
  if (type instanceof DuckDBEnumType)
    return enumColumn(type.values, type.internalTypeId, dictionaries.next++);
  if (type instanceof DuckDBListType) {
    const elements = part("[]", type.valueType);
    return new ListBuilder(column, new List(new Field("item", elements.type, true)), elements);
  }
  if (type instanceof DuckDBArrayType) {
    const elements = part("[]", type.valueType);
    const list = new FixedSizeList(type.length, new Field("item", elements.type, true));
    return new ArrayBuilder(list, type.length, elements);
  }
  if (type instanceof DuckDBMapType) {
    const [keys, values] = [part(" keys", type.keyType), part(" values", type.valueType)];
    const fields = [new Field("key", keys.type, false), new Field("value", values.type, true)];
    const entries = new Struct<{ key: DataType; value: DataType }>(fields);
    const map = new Map_(new Field("entries", entries, false));
    return new ListBuilder(column, map, new StructBuilder(entries, [keys, values]));
  }
  if (type instanceof DuckDBStructType) {
    const names = type.entryNames.map((name, index) => (name === "" ? `_${index + 1}` : name));
    const fields = type.entryTypes.map((of, index) => part(`.${names[index]}`, of));
    const struct = new Struct(fields.map((field, i) => new Field(names[i] as string, field.type, true)));
    return new StructBuilder(struct, fields);
  }
  return undefined;
}

/** The dictionary's indexes have the enum's width, which depends on the number of its words. */
function enumColumn(words: readonly string[], indexes: DuckDBTypeId, id: number): ColumnBuilder {
  const index =
    indexes === DuckDBTypeId.UTINYINT
      ? new Uint8()
      : indexes === DuckDBTypeId.USMALLINT
        ? new Uint16()
        : new Uint32();
  return new FixedBuilder({
    type: new Dictionary(new Utf8(), index, id),
    sourceWidth: index.bitWidth / 8,
    dictionary: vectorFromArray([...words], new Utf8()),
  });
}

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
