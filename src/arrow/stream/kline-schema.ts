import { WireError } from "../../core/errors.js";
import { OPTIONAL_COLUMNS, WIRE_COLUMNS } from "../../wire/kline-columns.js";
import { FlatError, type FlatTable } from "./flat-table.js";
import type { ColumnPlace, NumbersOf } from "./read-batch.js";

/** The number of a type in Arrow's format. */
const [NULL, INT, FLOAT, UTF8, TIMESTAMP] = [1, 2, 3, 5, 10] as const;
/** Buffers of a column, by the number of its type: validity and values, and offsets for text and binary. */
const BUFFERS: Readonly<Record<number, number>> = {
  [NULL]: 0,
  [INT]: 2,
  [FLOAT]: 2,
  4: 3,
  [UTF8]: 3,
  6: 2,
  7: 2,
  8: 2,
  9: 2,
  [TIMESTAMP]: 2,
  11: 2,
  15: 2,
  18: 2,
  19: 3,
  20: 3,
};
/** Most columns of a schema, those of other names included. */
const MAX_COLUMNS = 100;
const DOUBLE = 2;
const MILLISECOND = 1;

/** Indexes of symbols, by their bits. */
const INDEXES: Readonly<Record<number, NumbersOf<Int8Array | Int16Array | Int32Array>>> = {
  8: Int8Array,
  16: Int16Array,
  32: Int32Array,
};

/** The columns of a stream of bars, as its schema declares them. */
export interface KlineSchema {
  readonly symbol: ColumnPlace;
  /** The type of the symbols' indexes. */
  readonly Index: NumbersOf<Int8Array | Int16Array | Int32Array>;
  readonly dictionaryId: number;
  /** Columns of bars, by their names on the wire. */
  readonly columns: ReadonlyMap<string, ColumnPlace>;
}

/**
 * Reads the schema of a stream of bars: `symbol` as a dictionary of text with signed indexes of 8 to 32 bits, `timestamp`
 * as milliseconds with a zone, `volume` as int64, the others as doubles. Optional columns may be missing, and columns of
 * other names are skipped, in any order.
 *
 * @param offset of the message, for errors.
 * @throws {WireError} for another schema, naming the column and what was expected of it.
 */
export function readKlineSchema(header: FlatTable, offset: number): KlineSchema {
  if (header.int16(0) !== 0) throw wrong("numbers are big-endian", offset);
  const columns = new Map<string, ColumnPlace>();
  let buffer = 0;
  let found: Pick<KlineSchema, "symbol" | "Index" | "dictionaryId"> | undefined;
  const fields = header.tables(1);
  if (fields.length > MAX_COLUMNS) throw wrong(`it has ${fields.length} columns`, offset);
  for (const [node, field] of fields.entries()) {
    const name = field.text(0) ?? "";
    const place = { node, buffer };
    const dictionary = field.table(4);
    const buffers = dictionary === undefined ? BUFFERS[field.uint8(2)] : 2;
    if (buffers === undefined || (dictionary === undefined && field.vector(5, 4).length > 0))
      throw wrong(`column ${named(name)} has a nested or an unknown type`, offset);
    buffer += buffers;
    if (columns.has(name) || (name === "symbol" && found !== undefined))
      throw wrong(`column ${named(name)} is there twice`, offset);
    if (name === "symbol") found = { symbol: place, ...symbolsOf(field, dictionary, offset) };
    else if (WIRE_COLUMNS.includes(name)) {
      const expected = dictionary === undefined ? unmetType(name, field) : "no dictionary";
      if (expected !== undefined) throw wrong(`column ${name} has another type than ${expected}`, offset);
      columns.set(name, place);
    }
  }
  const missing = WIRE_COLUMNS.find((name) => !columns.has(name) && !OPTIONAL_COLUMNS.has(name));
  if (missing !== undefined) throw wrong(`column ${missing} is missing`, offset);
  if (found === undefined) throw wrong("column symbol is missing", offset);
  return { ...found, columns };
}

function symbolsOf(
  field: FlatTable,
  dictionary: FlatTable | undefined,
  offset: number,
): Pick<KlineSchema, "Index" | "dictionaryId"> {
  const index = dictionary?.table(1);
  // Without a type, indexes are signed and have 32 bits.
  const bits = index === undefined ? 32 : index.uint8(1) === 1 ? index.int32(0) : 0;
  const Index = INDEXES[bits];
  if (dictionary === undefined || field.uint8(2) !== UTF8 || Index === undefined)
    throw wrong("column symbol is not a dictionary of text with signed indexes of 8 to 32 bits", offset);
  return { Index, dictionaryId: dictionary.size(0) };
}

/** The type that a column should have; undefined where it has it. */
function unmetType(name: string, field: FlatTable): string | undefined {
  const [kind, type] = [field.uint8(2), field.table(3)];
  if (type === undefined) throw new FlatError("field has no type");
  if (name === "timestamp") {
    const isMet = kind === TIMESTAMP && type.int16(0) === MILLISECOND && Boolean(type.text(1));
    return isMet ? undefined : "milliseconds with a zone";
  }
  if (name === "volume")
    return kind === INT && type.int32(0) === 64 && type.uint8(1) === 1 ? undefined : "int64";
  return kind === FLOAT && type.int16(0) === DOUBLE ? undefined : "double";
}

function wrong(what: string, offset: number): WireError {
  return new WireError("wrong_shape", `Arrow stream has no bars: ${what}`, offset);
}

function named(name: string): string {
  return JSON.stringify(name.slice(0, 64));
}
