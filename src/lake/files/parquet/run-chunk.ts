import { inByteOrder } from "../../../core/byte-order.js";
import {
  DATA_PAGE,
  DICTIONARY_PAGE,
  ELEMENT,
  ENCODING,
  META,
  OPTIONAL,
  PAGE,
  PAGE_TYPE,
  STATISTICS,
  UNCOMPRESSED,
} from "./parquet-fields.js";
import type { Runs } from "./runs.js";
import {
  bool,
  bytes,
  encodeStruct,
  fieldsOf,
  i32,
  i64,
  list,
  putVarint,
  struct,
  type ThriftValue,
  text,
} from "./thrift.js";

/** The types of columns that can be written as runs; `date` is in days since 1970-01-01, and a `double` only null. */
export type RunType = "string" | "int32" | "date" | "double";

/** The physical types of Parquet, and the converted types, which say what the bytes mean. */
export const PHYSICAL: Readonly<Record<RunType, number>> = { int32: 1, date: 1, double: 5, string: 6 };
const CONVERTED: Readonly<Record<RunType, number | undefined>> = {
  string: 0,
  date: 6,
  int32: 17,
  double: undefined,
};

/** A column in the schema of a Parquet file, as DuckDB declares it: an optional leaf. */
export function schemaElement(name: string, type: RunType): ThriftValue {
  const converted = CONVERTED[type];
  return struct({
    [ELEMENT.type]: i32(PHYSICAL[type]),
    [ELEMENT.repetition]: i32(OPTIONAL),
    [ELEMENT.name]: text(name),
    [ELEMENT.converted]: converted === undefined ? undefined : i32(converted),
  });
}

/** A column chunk: the bytes of its pages, and what the footer says of it. */
export interface Chunk {
  readonly pages: Uint8Array;
  /** The metadata of the chunk, whose first page is at a position of the file. */
  metaData(at: number): ThriftValue;
}

/**
 * Encodes the rows of one row group as a column chunk: a dictionary of the values, and the runs of their numbers. The
 * pages are not compressed, as they are a few hundred bytes.
 *
 * https://parquet.apache.org/docs/file-format/data-pages/encodings/
 */
export function runChunk(name: string, type: RunType, { values, ends }: Runs): Chunk {
  const rows = ends[ends.length - 1] ?? 0;
  const isNull = values[0] === null;
  const distinct = isNull ? [] : [...new Set(values as readonly (string | number)[])];
  const dictionary = isNull ? undefined : dictionaryPage(type, distinct);
  const data = dataPage(rows, isNull, isNull ? undefined : runsOf(values, ends, distinct));
  const pages = Buffer.concat([...(dictionary === undefined ? [] : [dictionary]), data]);
  const statistics = statisticsOf(type, rows, distinct);
  return {
    pages,
    metaData: (at) =>
      struct({
        [META.type]: i32(PHYSICAL[type]),
        [META.encodings]: list([i32(encodingOf(isNull))]),
        [META.path]: list([text(name)]),
        [META.codec]: i32(UNCOMPRESSED),
        [META.values]: i64(rows),
        [META.bytes]: i64(pages.length),
        [META.compressedBytes]: i64(pages.length),
        [META.dataPage]: i64(at + (dictionary?.length ?? 0)),
        [META.dictionaryPage]: dictionary === undefined ? undefined : i64(at),
        [META.statistics]: statistics,
      }),
  };
}

function dictionaryPage(type: RunType, distinct: readonly (string | number)[]): Buffer {
  const content = Buffer.concat(
    distinct.map((value) => {
      const plain = plainBytes(type, value);
      return type === "string" ? Buffer.concat([uint32(plain.length), plain]) : plain;
    }),
  );
  const header = {
    [DICTIONARY_PAGE.values]: i32(distinct.length),
    [DICTIONARY_PAGE.encoding]: i32(ENCODING.plain),
  };
  return page(PAGE_TYPE.dictionary, content, { [PAGE.dictionary]: struct(header) });
}

/** A data page: the rows' definition levels, which say whether each one is null, and the runs. */
function dataPage(rows: number, isNull: boolean, runs: Buffer | undefined): Buffer {
  const levels: number[] = [];
  putRun(levels, rows, isNull ? 0 : 1, 1);
  const content = Buffer.concat([
    uint32(levels.length),
    Buffer.from(levels),
    ...(runs === undefined ? [] : [runs]),
  ]);
  const header = {
    [DATA_PAGE.values]: i32(rows),
    [DATA_PAGE.encoding]: i32(encodingOf(isNull)),
    [DATA_PAGE.definitionLevels]: i32(ENCODING.rle),
    [DATA_PAGE.repetitionLevels]: i32(ENCODING.rle),
  };
  return page(PAGE_TYPE.data, content, { [PAGE.data]: struct(header) });
}

function encodingOf(isNull: boolean): number {
  return isNull ? ENCODING.plain : ENCODING.plainDictionary;
}

function page(type: number, content: Buffer, header: Readonly<Record<number, ThriftValue>>): Buffer {
  const size = i32(content.length);
  const common = { [PAGE.type]: i32(type), [PAGE.bytes]: size, [PAGE.compressedBytes]: size };
  return Buffer.concat([encodeStruct(fieldsOf({ ...common, ...header })), content]);
}

/** The runs as numbers in the dictionary, after the number of bits of each. */
function runsOf(values: Runs["values"], ends: Runs["ends"], distinct: readonly (string | number)[]): Buffer {
  const bits = Math.max(1, 32 - Math.clz32(distinct.length - 1));
  const numbers = new Map<string | number | null, number>(distinct.map((value, index) => [value, index]));
  const out = [bits];
  let from = 0;
  for (const [k, value] of values.entries()) {
    const end = ends[k] as number;
    putRun(out, end - from, numbers.get(value) as number, Math.ceil(bits / 8));
    from = end;
  }
  return Buffer.from(out);
}

/** Adds a run of the hybrid encoding: twice its length, and its value in whole bytes. */
function putRun(out: number[], length: number, value: number, valueBytes: number): void {
  putVarint(out, BigInt(length) * 2n);
  for (let i = 0; i < valueBytes; i++) out.push((value >> (8 * i)) & 255);
}

/** The number of nulls and, where there are values, the least and the greatest, under old and new names. */
function statisticsOf(type: RunType, rows: number, distinct: readonly (string | number)[]): ThriftValue {
  if (distinct.length === 0) return struct({ [STATISTICS.nulls]: i64(rows) });
  const sorted =
    type === "string"
      ? inByteOrder(distinct as readonly string[])
      : (distinct as readonly number[]).toSorted((a, b) => a - b);
  const [min, max] = [plainBytes(type, sorted[0]), plainBytes(type, sorted.at(-1))].map(bytes);
  return struct({
    [STATISTICS.oldMax]: max,
    [STATISTICS.oldMin]: min,
    [STATISTICS.nulls]: i64(0),
    [STATISTICS.distinct]: i64(distinct.length),
    [STATISTICS.max]: max,
    [STATISTICS.min]: min,
    [STATISTICS.maxIsExact]: bool(true),
    [STATISTICS.minIsExact]: bool(true),
  });
}

/** A value in Parquet's PLAIN encoding; a text without its length. */
function plainBytes(type: RunType, value: string | number | undefined): Buffer {
  if (type === "string") return Buffer.from(value as string);
  const plain = Buffer.alloc(4);
  plain.writeInt32LE(value as number);
  return plain;
}

function uint32(value: number): Buffer {
  const four = Buffer.alloc(4);
  four.writeUInt32LE(value);
  return four;
}
