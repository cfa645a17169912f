import { freeMemory } from "../../../core/memory-pool.js";
import { readRangeOf, replaceEnd, writeParts } from "../../local/local-files.js";
import { type ContentHash, ContentHasher, readFooter, TRAILER_BYTES } from "../content-hash.js";
import {
  CHUNK,
  ELEMENT,
  FILE,
  GROUP,
  MAGIC,
  META,
  PHYSICAL,
  type Runs,
  type RunType,
  runChunk,
  runsBetween,
  STATISTICS,
  schemaElement,
  trailerOf,
} from "./run-chunk.js";
import {
  bytesAt,
  decodeStruct,
  encodeStruct,
  fieldsOf,
  i32,
  i64,
  integerAt,
  list,
  struct,
  structAt,
  structsAt,
  type ThriftStruct,
  type ThriftValue,
  withFields,
} from "./thrift.js";

/**
 * Columns of doubles that DuckDB has written as the integers which have their 64 bits. The bytes of both are the same, but
 * DuckDB compares integers for the bounds of row groups in a third of the time that it needs to compare doubles and to test
 * each for NaN. The bits of doubles are ordered as the doubles are where all of these are finite and none has a sign: the bounds of
 * the integers are then those of the doubles. Other columns are written as doubles.
 */

/** The bits of the infinite double: those of finite doubles without a sign are less. */
const INFINITY_BITS = 0x7ff0_0000_0000_0000n;

/** Whether the bits of all doubles of a column chunk are ordered as the doubles are, by its bounds. So they are in one without values. */
function hasOrderedBits(meta: ThriftStruct): boolean {
  const statistics = meta.has(META.statistics) ? structAt(meta, META.statistics) : undefined;
  const [min, max] = [STATISTICS.min, STATISTICS.max].map((id) => statistics && bytesAt(statistics, id));
  if (min === undefined || max === undefined) return true;
  return Buffer.from(min).readBigInt64LE(0) >= 0n && Buffer.from(max).readBigInt64LE(0) < INFINITY_BITS;
}

/** What the footer says of such a column chunk, as that of doubles. */
function metaOfDoubles(meta: ThriftStruct): ThriftStruct {
  return withFields(meta, { [META.type]: i32(PHYSICAL.double) });
}

/**
 * Changes a finished file, so that it says of some columns, whose integers have the bits of doubles, that they are doubles.
 *
 * @throws {RangeError} where a double has a sign or is not finite; the file is as it was.
 */
export async function declareDoubles(path: string, names: ReadonlySet<string>): Promise<void> {
  if (names.size === 0) return;
  const footer = await readFooter((range) => readRangeOf(path, range));
  const file = decodeStruct(footer.subarray(0, -TRAILER_BYTES));
  // The first element of the schema is its root.
  const [root, ...elements] = structsAt(file, FILE.schema) as [ThriftStruct, ...ThriftStruct[]];
  const ofColumns = elements.map((element) => {
    const name = nameOf(element);
    return names.has(name) ? schemaElement(name, "double") : struct(element);
  });
  const groups = structsAt(file, FILE.rowGroups).map((group) => {
    const chunks = structsAt(group, GROUP.columns).map((chunk, index) => {
      const [meta, name] = [structAt(chunk, CHUNK.metaData), nameOf(elements[index] as ThriftStruct)];
      if (!names.has(name)) return struct(chunk);
      if (!hasOrderedBits(meta))
        throw new RangeError(`column ${name}: has a number with a sign, or one that is not finite`);
      return struct(withFields(chunk, { [CHUNK.metaData]: struct(metaOfDoubles(meta)) }));
    });
    return struct(withFields(group, { [GROUP.columns]: list(chunks) }));
  });
  const declared = encodeStruct(
    withFields(file, { [FILE.schema]: list([struct(root), ...ofColumns]), [FILE.rowGroups]: list(groups) }),
  );
  await replaceEnd(path, footer.length, [declared, ...trailerOf(declared)]);
}

function nameOf(element: ThriftStruct): string {
  return Buffer.from(bytesAt(element, ELEMENT.name) ?? []).toString();
}

/** A column of the finished file: its runs, or nothing where the file of values has it. */
export type FileColumn = { readonly name: string } & (
  | {
      readonly runs?: undefined;
      /** Whether the file of values has integers with the bits of the column's doubles. @default false */
      readonly hasBits?: boolean;
    }
  | { readonly runs: Runs; readonly type: RunType }
);

/** Statistics are ordered as the column's type is. */
const TYPE_ORDER = struct({ 1: struct({}) });

/** A row group of the file of values: its number, its column chunks, and where their bytes are. */
interface ValuesGroup {
  readonly number: number;
  readonly group: ThriftStruct;
  readonly chunks: readonly ValuesChunk[];
  readonly start: number;
  readonly end: number;
}

interface ValuesChunk {
  readonly chunk: ThriftStruct;
  readonly meta: ThriftStruct;
  readonly start: number;
  readonly end: number;
}

/**
 * Writes a Parquet file from a file of values, whose bytes are copied, and from columns of runs. DuckDB encodes each value
 * of a column by itself, and hashes each text; the runs of a symbol, a date or a constant are a few bytes. The row groups
 * become those of the rows' order: where several threads write a file, they are in the order in which they were done. Integers
 * with the bits of doubles become doubles.
 *
 * @param values a finished file: in it the columns without runs, in the order of `columns`, and as the last one
 *   `row_group`, which is not copied.
 * @returns the hash of the new file; undefined, and nothing is written, where the row groups are not those that
 *   `row_group` numbers, a double that is there as an integer has a sign or is not finite, or a column is not a single
 *   value, as a list.
 * @throws {RangeError} where a column's runs are of more or fewer rows than the file of values has.
 */
export async function addRunColumns(
  values: string,
  target: string,
  columns: readonly FileColumn[],
): Promise<ContentHash | undefined> {
  const footer = decodeStruct(
    (await readFooter((range) => readRangeOf(values, range))).subarray(0, -TRAILER_BYTES),
  );
  const groups = isFlat(footer, columns) ? groupsInOrder(footer) : undefined;
  if (groups === undefined || !groups.every((group) => areBitsOrdered(group, columns))) return undefined;
  for (const { name, runs } of columns) {
    if (runs !== undefined && runs.ends.at(-1) !== integerAt(footer, FILE.rows))
      throw new RangeError(`column ${name}: has runs of ${runs.ends.at(-1)} rows`);
  }
  const hasher = new ContentHasher();
  await writeParts(target, hashed(partsOf(values, footer, groups, columns), hasher));
  return hasher.digest();
}

async function* hashed(
  parts: AsyncIterable<readonly Uint8Array[]>,
  hasher: ContentHasher,
): AsyncGenerator<readonly Uint8Array[]> {
  for await (const some of parts) {
    for (const part of some) hasher.update(part);
    yield some;
  }
}

/** Whether the schema of the file of values has one element for each of its columns; that of a list has three. */
function isFlat(footer: ThriftStruct, columns: readonly FileColumn[]): boolean {
  const ofValues = columns.filter(({ runs }) => runs === undefined);
  // Also the root and the numbers of the row groups.
  return structsAt(footer, FILE.schema).length === 1 + ofValues.length + 1;
}

/** The row groups by their numbers; undefined where a number is missing, or a row group has rows of several. */
function groupsInOrder(footer: ThriftStruct): readonly ValuesGroup[] | undefined {
  const groups = structsAt(footer, FILE.rowGroups)
    .map(valuesGroup)
    .sort((a, b) => a.number - b.number);
  return groups.every(({ number }, index) => number === index) ? groups : undefined;
}

function valuesGroup(group: ThriftStruct): ValuesGroup {
  const chunks = structsAt(group, GROUP.columns).map(valuesChunk);
  const ofNumbers = chunks.pop();
  // Their bytes are copied in one piece: DuckDB writes the columns in the order of the schema.
  const isInOrder = chunks.every(({ start }, index) => index === 0 || start === chunks[index - 1]?.end);
  const number = ofNumbers === undefined || !isInOrder ? Number.NaN : onlyInteger(ofNumbers.meta);
  return { number, group, chunks, start: chunks[0]?.start ?? 0, end: chunks.at(-1)?.end ?? 0 };
}

function valuesChunk(chunk: ThriftStruct): ValuesChunk {
  const meta = structAt(chunk, CHUNK.metaData);
  const start = integerAt(meta, meta.has(META.dictionaryPage) ? META.dictionaryPage : META.dataPage);
  return { chunk, meta, start, end: start + integerAt(meta, META.compressedBytes) };
}

/** The value of a column of integers that has only one; NaN otherwise. */
function onlyInteger(meta: ThriftStruct): number {
  if (!meta.has(META.statistics)) return Number.NaN;
  const statistics = structAt(meta, META.statistics);
  const [min, max] = [STATISTICS.min, STATISTICS.max].map((id) => bytesAt(statistics, id));
  if (min === undefined || max === undefined || Buffer.compare(min, max) !== 0) return Number.NaN;
  return Buffer.from(min).readInt32LE(0);
}

/** Whether the bits of all doubles that are there as integers are ordered as the doubles are. */
function areBitsOrdered({ chunks }: ValuesGroup, columns: readonly FileColumn[]): boolean {
  const ofValues = columns.filter((column) => column.runs === undefined);
  return ofValues.every(
    ({ hasBits }, index) => hasBits !== true || hasOrderedBits((chunks[index] as ValuesChunk).meta),
  );
}

/** The bytes of the finished file: those of each row group together. */
async function* partsOf(
  values: string,
  footer: ThriftStruct,
  groups: readonly ValuesGroup[],
  columns: readonly FileColumn[],
): AsyncGenerator<readonly Uint8Array[]> {
  yield [MAGIC];
  let [at, row] = [MAGIC.length, 0];
  const written: ThriftValue[] = [];
  for (const group of groups) {
    const rows = integerAt(group.group, GROUP.rows);
    const content = await readRangeOf(values, group);
    if (content.length !== group.end - group.start)
      throw new RangeError(`${values}: ends in row group ${group.number}`);
    const placed = placeColumns(group, content, columns, { at, row, rows });
    written.push(groupOf(group.group, placed.chunks, at));
    yield placed.parts;
    freeMemory(content);
    at = placed.end;
    row += rows;
  }
  const meta = encodeStruct(
    withFields(footer, {
      [FILE.schema]: list(schemaOf(footer, columns)),
      [FILE.rowGroups]: list(written),
      [FILE.columnOrders]: list(columns.map(() => TYPE_ORDER)),
    }),
  );
  yield [meta, ...trailerOf(meta)];
}

/** The columns of a row group, one after the other from a position of the file on. */
function placeColumns(
  group: ValuesGroup,
  content: Buffer,
  columns: readonly FileColumn[],
  { at, row, rows }: { readonly at: number; readonly row: number; readonly rows: number },
): { readonly parts: readonly Uint8Array[]; readonly chunks: readonly ThriftStruct[]; readonly end: number } {
  const [parts, chunks]: [Uint8Array[], ThriftStruct[]] = [[], []];
  let end = at;
  let next = 0;
  for (const column of columns) {
    if (column.runs === undefined) {
      const one = group.chunks[next++] as ValuesChunk;
      parts.push(content.subarray(one.start - group.start, one.end - group.start));
      chunks.push(moved(one, end - one.start, column.hasBits));
    } else {
      const one = runChunk(column.name, column.type, runsBetween(column.runs, row, row + rows));
      parts.push(one.pages);
      chunks.push(fieldsOf({ [CHUNK.fileOffset]: i64(0), [CHUNK.metaData]: one.metaData(end) }));
    }
    end += parts.at(-1)?.length ?? 0;
  }
  return { parts, chunks, end };
}

/** What the footer says of a column chunk whose bytes have moved, without indexes of pages and Bloom filters, which are not copied. */
function moved({ chunk, meta }: ValuesChunk, by: number, hasBits = false): ThriftStruct {
  const position = (id: number) => (meta.has(id) ? i64(integerAt(meta, id) + by) : undefined);
  const nothing = (ids: readonly number[]) => Object.fromEntries(ids.map((id) => [id, undefined]));
  const movedMeta = withFields(hasBits ? metaOfDoubles(meta) : meta, {
    [META.dataPage]: position(META.dataPage),
    [META.dictionaryPage]: position(META.dictionaryPage),
    ...nothing(META.bloomFilter),
  });
  return withFields(chunk, { [CHUNK.metaData]: struct(movedMeta), ...nothing(CHUNK.indexes) });
}

function groupOf(group: ThriftStruct, chunks: readonly ThriftStruct[], at: number): ThriftValue {
  const sum = (id: number) =>
    i64(chunks.reduce((total, chunk) => total + integerAt(structAt(chunk, CHUNK.metaData), id), 0));
  return struct(
    withFields(group, {
      [GROUP.columns]: list(chunks.map((chunk) => struct(chunk))),
      [GROUP.bytes]: sum(META.bytes),
      [GROUP.fileOffset]: i64(at),
      [GROUP.compressedBytes]: sum(META.compressedBytes),
      [GROUP.ordinal]: undefined,
    }),
  );
}

function schemaOf(footer: ThriftStruct, columns: readonly FileColumn[]): ThriftValue[] {
  const [root, ...elements] = structsAt(footer, FILE.schema) as [ThriftStruct, ...ThriftStruct[]];
  const ofColumns = columns.map((column) => {
    if (column.runs !== undefined) return schemaElement(column.name, column.type);
    const element = elements.shift() as ThriftStruct;
    return column.hasBits ? schemaElement(column.name, "double") : struct(element);
  });
  return [struct(withFields(root, { [ELEMENT.children]: i32(columns.length) })), ...ofColumns];
}
