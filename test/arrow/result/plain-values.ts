import {
  DuckDBArrayValue,
  DuckDBBlobValue,
  DuckDBDateValue,
  DuckDBDecimalValue,
  DuckDBIntervalValue,
  DuckDBListValue,
  DuckDBMapValue,
  DuckDBStructValue,
  DuckDBTimestampMillisecondsValue,
  DuckDBTimestampNanosecondsValue,
  DuckDBTimestampSecondsValue,
  DuckDBTimestampTZValue,
  DuckDBTimestampValue,
  DuckDBTimeValue,
  DuckDBUUIDValue,
  type DuckDBValue,
} from "@duckdb/node-api";
import { type Data, DataType, type RecordBatch, Vector } from "apache-arrow";

/** A value as what both sides can be turned into without loss: integers as bigint, times as their units' count. */
export type Plain =
  | bigint
  | number
  | string
  | boolean
  | null
  | readonly Plain[]
  | { readonly [name: string]: Plain };

/** A value of DuckDB's, as its own client reads it. */
export function plainOfDuckDB(value: DuckDBValue): Plain {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint") return value;
  if (value instanceof DuckDBDecimalValue) return value.value;
  if (value instanceof DuckDBDateValue) return value.days;
  if (value instanceof DuckDBTimeValue) return value.micros;
  if (value instanceof DuckDBTimestampValue || value instanceof DuckDBTimestampTZValue) return value.micros;
  if (value instanceof DuckDBTimestampSecondsValue) return value.seconds;
  if (value instanceof DuckDBTimestampMillisecondsValue) return value.millis;
  if (value instanceof DuckDBTimestampNanosecondsValue) return value.nanos;
  if (value instanceof DuckDBIntervalValue) return [value.months, value.days, value.micros * 1000n];
  if (value instanceof DuckDBUUIDValue) return value.toString();
  if (value instanceof DuckDBBlobValue) return Buffer.from(value.bytes).toString("hex");
  if (value instanceof DuckDBListValue || value instanceof DuckDBArrayValue)
    return value.items.map(plainOfDuckDB);
  if (value instanceof DuckDBMapValue)
    return value.entries.map((entry) => [plainOfDuckDB(entry.key), plainOfDuckDB(entry.value)]);
  if (value instanceof DuckDBStructValue)
    return Object.fromEntries(Object.entries(value.entries).map(([name, of]) => [name, plainOfDuckDB(of)]));
  throw new TypeError(`no plain value of ${String(value)}`);
}

/** The rows of record batches, from their buffers. */
export function plainRows(batches: readonly RecordBatch[]): Plain[][] {
  return batches.flatMap((batch) =>
    Array.from({ length: batch.numRows }, (_, row) =>
      batch.data.children.map((column) => plainOfArrow(column, row)),
    ),
  );
}

function plainOfArrow(data: Data, row: number): Plain {
  const { type } = data;
  if (DataType.isNull(type) || !data.getValid(row)) return null;
  const at = data.offset + row;
  const child = data.children[0] as Data;
  const elements = (start: number, end: number): Plain[] =>
    Array.from({ length: end - start }, (_, i) => plainOfArrow(child, start + i));
  if (DataType.isList(type))
    return elements(data.valueOffsets[row] as number, data.valueOffsets[row + 1] as number);
  if (DataType.isFixedSizeList(type)) return elements(row * type.listSize, (row + 1) * type.listSize);
  if (DataType.isMap(type)) {
    const entries = elements(data.valueOffsets[row] as number, data.valueOffsets[row + 1] as number);
    return entries.map((entry) => Object.values(entry as object) as Plain[]);
  }
  if (DataType.isStruct(type)) {
    const names = type.children.map(({ name }) => name);
    return Object.fromEntries(names.map((name, i) => [name, plainOfArrow(data.children[i] as Data, row)]));
  }
  if (DataType.isDecimal(type)) return integerOf(data.values.subarray(row * 4, row * 4 + 4) as Uint32Array);
  if (DataType.isInterval(type)) {
    const words = data.values.subarray(row * 4, row * 4 + 4) as Int32Array;
    return [words[0] as number, words[1] as number, new BigInt64Array(words.slice(2).buffer)[0] as bigint];
  }
  if (DataType.isBinary(type)) {
    const [start, end] = [data.valueOffsets[row], data.valueOffsets[row + 1]];
    return Buffer.from(data.values.subarray(start, end)).toString("hex");
  }
  if (DataType.isBool(type)) return ((data.values[at >> 3] as number) & (1 << (at & 7))) !== 0;
  if (DataType.isUtf8(type) || DataType.isDictionary(type)) return new Vector([data]).get(row) as string;
  return data.values[row] as number | bigint;
}

function integerOf(words: Uint32Array): bigint {
  const unsigned = [...words].reduceRight((bits, word) => (bits << 32n) | BigInt(word), 0n);
  return BigInt.asIntN(128, unsigned);
}
