import type { DuckDBType } from "@duckdb/node-api";
import {
  Binary,
  type DataType,
  Dictionary,
  Field,
  FixedSizeList,
  List,
  Map_,
  Struct,
  Uint8,
  Uint16,
  Uint32,
  Utf8,
  vectorFromArray,
} from "apache-arrow";
import { UsageError } from "../../core/errors.js";
import {
  DuckDBArrayType,
  DuckDBDecimalType,
  DuckDBEnumType,
  DuckDBListType,
  DuckDBMapType,
  DuckDBStructType,
  DuckDBTypeId,
} from "../duckdb-api.js";
import type { ColumnBuilder } from "./column-builder.js";
import { BooleanBuilder, FixedBuilder, NullBuilder } from "./fixed-builder.js";
import { decimalLayout, fixedLayout } from "./fixed-layouts.js";
import { ArrayBuilder, ListBuilder, StructBuilder } from "./nested-builder.js";
import { appendUuid, TextBuilder } from "./text-builder.js";

/**
 * Creates a builder for a column of any type that Arrow supports; its `type` is the Arrow type. Integers, floats, text,
 * blobs, decimals, dates and times have the same types; HUGEINT and UHUGEINT become decimal(38, 0), TIMESTAMP WITH TIME
 * ZONE a timestamp in UTC, UUID text, and an enum a dictionary.
 *
 * @param dictionaries counter of the dictionaries of one schema.
 * @throws {UsageError} for a type that Arrow does not support, naming the column.
 */
export function buildColumn(column: string, type: DuckDBType, dictionaries: { next: number }): ColumnBuilder {
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

/** A column of a type that has parameters. */
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
