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
export const PAGE = { type: 1, bytes: 2, compressedBytes: 3, data: 5, dictionary: 7 } as const;
export const DATA_PAGE = { values: 1, encoding: 2, definitionLevels: 3, repetitionLevels: 4 } as const;
export const DICTIONARY_PAGE = { values: 1, encoding: 2 } as const;

export const PAGE_TYPE = { data: 0, dictionary: 2 } as const;
export const ENCODING = { plain: 0, plainDictionary: 2, rle: 3 } as const;
export const OPTIONAL = 1;
export const UNCOMPRESSED = 0;

/** The first and the last bytes of a file. */
export const MAGIC = Buffer.from("PAR1");

/** What follows a footer, until the end of the file. */
export function trailerOf(footer: Uint8Array): readonly Uint8Array[] {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return [length, MAGIC];
}
