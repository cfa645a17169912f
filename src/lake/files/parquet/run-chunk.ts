import { inByteOrder } from "../../../core/bits.js";
import { lowerBound } from "../../../core/lower-bound.js";
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

/**
 * Runs of equal values of one column: `values[k]` is in the rows from `ends[k - 1]` to `ends[k]`, exclusive. A column
 * that is null in a row is null in all.
 */
export interface Runs {
  readonly values: readonly (string | number | null)[];
  /** Ascending; the last one is the number of rows. */
  readonly ends: readonly number[];
}

/** Collects runs; values that follow an equal one make its run longer. */
export class RunBuilder implements Runs {
  readonly values: (string | number | null)[] = [];
  readonly ends: number[] = [];

  add(value: string | number | null, rows: number): void {
    const last = this.ends.length - 1;
    const end = (this.ends[last] ?? 0) + rows;
    if (last >= 0 && this.values[last] === value) this.ends[last] = end;
    else {
      this.values.push(value);
      this.ends.push(end);
    }
  }
}

export function oneRun(value: string | number | null, rows: number): Runs {
  return { values: [value], ends: [rows] };
}

/** The runs of the rows from `start` to `end`, exclusive; row `start` becomes row 0. */
export function runsBetween({ values, ends }: Runs, start: number, end: number): Runs {
  const first = lowerBound(0, ends.length, (k) => (ends[k] as number) > start);
  const last = lowerBound(first, ends.length, (k) => (ends[k] as number) >= end);
  return {
    values: values.slice(first, last + 1),
    ends: ends.slice(first, last + 1).map((one) => Math.min(one, end) - start),
  };
}

/**
 * Ids of the fields of a Parquet file's structs, and numbers of its enumerations.
 *
 * https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift
 */
export const FILE = { schema: 2, rows: 3, rowGroups: 4, columnOrders: 7 } as const;
export const ELEMENT = { type: 1, repetition: 3, name: 4, children: 5, converted: 6 } as const;
export const GROUP = {
  columns: 1,
  bytes: 2,
  rows: 3,
  fileOffset: 5,
  compressedBytes: 6,
  ordinal: 7,
} as const;
/** `indexes` are positions and lengths of the offset index and the column index. */
export const CHUNK = { fileOffset: 2, metaData: 3, indexes: [4, 5, 6, 7] } as const;
export const META = {
  type: 1,
  encodings: 2,
  path: 3,
  codec: 4,
  values: 5,
  bytes: 6,
  compressedBytes: 7,
  dataPage: 9,
  dictionaryPage: 11,
  statistics: 12,
  /** The position and the length of the Bloom filter. */
  bloomFilter: [14, 15],
} as const;
/** `oldMax` and `oldMin` are for old readers, which ignore `min` and `max`. */
export const STATISTICS = {
  oldMax: 1,
  oldMin: 2,
  nulls: 3,
  distinct: 4,
  max: 5,
  min: 6,
  maxIsExact: 7,
  minIsExact: 8,
} as const;
const PAGE = { type: 1, bytes: 2, compressedBytes: 3, data: 5, dictionary: 7 } as const;
const DATA_PAGE = { values: 1, encoding: 2, definitionLevels: 3, repetitionLevels: 4 } as const;
const DICTIONARY_PAGE = { values: 1, encoding: 2 } as const;

const PAGE_TYPE = { data: 0, dictionary: 2 } as const;
const ENCODING = { plain: 0, plainDictionary: 2, rle: 3 } as const;
const OPTIONAL = 1;
const UNCOMPRESSED = 0;

/** The first and the last bytes of a file. */
export const MAGIC = Buffer.from("PAR1");

/** What follows a footer, until the end of the file. */
export function trailerOf(footer: Uint8Array): readonly Uint8Array[] {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return [length, MAGIC];
}

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
interface Chunk {
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
