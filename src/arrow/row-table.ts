import {
  type DataType,
  DataType as Is,
  type RecordBatch,
  type Struct,
  Table,
  type Vector,
} from "apache-arrow";
import { DAY_MS, dateOfEpochDay } from "../core/time.js";

/** A row as an object, by column. */
export type Row = Record<string, unknown>;

/**
 * An Arrow table whose rows can also be had as objects. It is a `Table` of apache-arrow, so every function that accepts a `Table` accepts it.
 */
export class RowTable<T = Row> extends Table {
  /** @param batches of one schema, at least one. */
  constructor(batches: readonly RecordBatch[]) {
    super([...batches]);
  }

  /**
   * The rows as objects of JavaScript's values: integers and decimals are numbers (a bigint where a number is not exact),
   * dates are texts `YYYY-MM-DD`, timestamps are `Date`. All of them are in memory: for small tables.
   */
  rows(): T[] {
    const rows: Row[] = Array.from({ length: this.numRows }, () => ({}));
    for (const { name, type } of this.schema.fields) {
      const column = this.getChild(name) as Vector;
      const convert = converterOf(type);
      for (const [at, row] of rows.entries()) {
        const value: unknown = column.get(at);
        row[name] = value === null ? null : convert(value);
      }
    }
    return rows as T[];
  }
}

type Converter = (value: never) => unknown;

const unchanged: Converter = (value) => value;

/** Makes the function that converts a column's values that are not null. */
function converterOf(type: DataType): (value: unknown) => unknown {
  return convertersOf(type) as (value: unknown) => unknown;
}

function convertersOf(type: DataType): Converter {
  if (Is.isInt(type)) return type.bitWidth === 64 ? exactNumber : unchanged;
  if (Is.isDecimal(type)) return (words: Uint32Array) => decimalNumber(words, type.scale);
  if (Is.isTimestamp(type)) return (ms: number) => new Date(ms);
  if (Is.isDate(type)) return (ms: number) => dateOfEpochDay(ms / DAY_MS);
  if (Is.isDictionary(type)) return convertersOf(type.dictionary);
  if (Is.isList(type) || Is.isFixedSizeList(type)) {
    const convert = converterOf((type.children[0] as { type: DataType }).type);
    return (list: Vector) => Array.from(list, (value: unknown) => (value === null ? null : convert(value)));
  }
  if (Is.isStruct(type)) return structConverter(type);
  if (Is.isMap(type)) {
    const convert = converterOf(type.valueType);
    return (map: Iterable<[string, unknown]>) =>
      Object.fromEntries(Array.from(map, ([key, value]) => [key, value === null ? null : convert(value)]));
  }
  return unchanged;
}

function structConverter(type: Struct): Converter {
  const fields = type.children.map(({ name, type: of }) => [name, converterOf(of)] as const);
  return (struct: Row) =>
    Object.fromEntries(
      fields.map(([name, convert]) => [name, struct[name] === null ? null : convert(struct[name])]),
    );
}

function exactNumber(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** @param words of the unscaled value, the lowest first, in two's complement. */
function decimalNumber(words: Uint32Array, scale: number): number | bigint {
  const bits = words.reduceRight((sum, word) => (sum << 32n) | BigInt(word), 0n);
  const unscaled = BigInt.asIntN(words.length * 32, bits);
  return scale === 0 ? exactNumber(unscaled) : Number(unscaled) / 10 ** scale;
}
