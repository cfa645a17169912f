import { inByteOrder, type Runs } from "./runs.js";
import {
  bool,
  bytes,
  encodeStruct,
  i32,
  i64,
  list,
  putVarint,
  struct,
  structOf,
  type ThriftValue,
  text,
} from "./thrift.js";

/** The types of columns that can be written as runs; `date` is in days since 1970-01-01. */
export type RunType = "string" | "int32" | "date" | "double";

/** Numbers of the enumerations of https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift */
const PHYSICAL: Readonly<Record<RunType, number>> = { int32: 1, date: 1, double: 5, string: 6 };
const CONVERTED: Readonly<Record<RunType, number | undefined>> = {
  string: 0,
  date: 6,
  int32: 17,
  double: undefined,
};
const OPTIONAL = 1;
const UNCOMPRESSED = 0;
const DATA_PAGE = 0;
const DICTIONARY_PAGE = 2;
const PLAIN = 0;
const PLAIN_DICTIONARY = 2;
const RLE = 3;

/** A column in the schema of a Parquet file, as DuckDB declares it: an optional leaf. */
export function schemaElement(name: string, type: RunType): ThriftValue {
  const converted = CONVERTED[type];
  return struct({
    1: i32(PHYSICAL[type]),
    3: i32(OPTIONAL),
    4: text(name),
    6: converted === undefined ? undefined : i32(converted),
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
        1: i32(PHYSICAL[type]),
        2: list([i32(isNull ? PLAIN : PLAIN_DICTIONARY)]),
        3: list([text(name)]),
        4: i32(UNCOMPRESSED),
        5: i64(rows),
        6: i64(pages.length),
        7: i64(pages.length),
        9: i64(at + (dictionary?.length ?? 0)),
        11: dictionary === undefined ? undefined : i64(at),
        12: statistics,
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
  return page(DICTIONARY_PAGE, content, { 7: struct({ 1: i32(distinct.length), 2: i32(PLAIN) }) });
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
  const encoding = i32(isNull ? PLAIN : PLAIN_DICTIONARY);
  return page(DATA_PAGE, content, {
    5: struct({ 1: i32(rows), 2: encoding, 3: i32(RLE), 4: i32(RLE) }),
  });
}

function page(type: number, content: Buffer, header: Readonly<Record<number, ThriftValue>>): Buffer {
  const size = i32(content.length);
  return Buffer.concat([encodeStruct(structOf({ 1: i32(type), 2: size, 3: size, ...header })), content]);
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

/** The number of nulls and, where there are values, the least and the greatest, twice: under old and new names. */
function statisticsOf(type: RunType, rows: number, distinct: readonly (string | number)[]): ThriftValue {
  if (distinct.length === 0) return struct({ 3: i64(rows) });
  const sorted =
    type === "string"
      ? inByteOrder(distinct as readonly string[])
      : (distinct as readonly number[]).toSorted((a, b) => a - b);
  const [min, max] = [plainBytes(type, sorted[0]), plainBytes(type, sorted.at(-1))].map(bytes);
  return struct({
    1: max,
    2: min,
    3: i64(0),
    4: i64(distinct.length),
    5: max,
    6: min,
    7: bool(true),
    8: bool(true),
  });
}

/** A value in Parquet's PLAIN encoding; a text without its length. */
function plainBytes(type: RunType, value: string | number | undefined): Buffer {
  if (type === "string") return Buffer.from(value as string);
  const plain = Buffer.alloc(type === "double" ? 8 : 4);
  if (type === "double") plain.writeDoubleLE(value as number);
  else plain.writeInt32LE(value as number);
  return plain;
}

function uint32(value: number): Buffer {
  const four = Buffer.alloc(4);
  four.writeUInt32LE(value);
  return four;
}
