import { plainName } from "../plan/field-names.js";

type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };
type JsonObject = { readonly [name: string]: Json };
/** A row: the values of its columns, as a CSV file would have them; a list as JSON. */
export type TextRecord = Readonly<Record<string, string | number | null>>;

/**
 * Finds the rows of a JSON document, whatever its shape: an array of records; an object of arrays, one for each column,
 * as a service's K-lines have; maps from symbols or dates to these; records that contain a list of records. Members beside a
 * table are the same for all of its rows.
 *
 * @param known the names of fields, in plain notation: they tell a map of columns from a map of rows.
 */
export function* recordsOf(document: unknown, known: ReadonlySet<string>): Generator<TextRecord> {
  yield* tablesIn(document as Json, {}, known);
}

type Context = TextRecord;

/** Keys of a map that are data: symbols and dates. Others, such as `data` or `Time Series (Daily)`, only wrap a table. */
const DATA_KEY = /^(?:\d{4}-\d|[^\s]*\d{4}|[A-Z][A-Z0-9.^-]*$|.*\.[A-Za-z]{2,4}$|\d+$)/;

function* tablesIn(value: Json, context: Context, known: ReadonlySet<string>): Generator<TextRecord> {
  if (Array.isArray(value)) {
    for (const item of value as readonly Json[]) if (isObject(item)) yield* tablesIn(item, context, known);
    return;
  }
  if (!isObject(value)) return;
  if (isSplit(value)) return yield* rowsOfSplit(value, context);
  if (isTableSchema(value)) return yield* tablesIn(value.data, context, known);
  const entries = Object.entries(value);
  const lists = entries.filter(([, member]) => isList(member));
  if (lists.filter(([name]) => known.has(plainName(name))).length > 1)
    return yield* rowsOfColumns(value, lists, context);
  const below = entries.filter(([, member]) => isObject(member) || hasObjects(member));
  const scalars = entries.filter((entry) => !below.includes(entry));
  const own: Context = {
    ...context,
    ...Object.fromEntries(scalars.map(([name, member]) => [name, textOf(member)])),
  };
  if (below.length === 0) {
    if (Object.keys(own).some((name) => known.has(plainName(name)))) yield own;
    return;
  }
  const objects = below.filter((entry): entry is [string, JsonObject] => isObject(entry[1]));
  const areFlat = objects.length === below.length && objects.every(([, member]) => isFlat(member));
  const areRows =
    objects.length > 1 && objects.every(([name]) => DATA_KEY.test(name)) && haveOneShape(objects);
  if (areFlat && scalars.length > 0 && !areRows) return yield { ...flattened(objects), ...own };
  if (areFlat && objects.filter(([name]) => known.has(plainName(name))).length > 1)
    return yield* rowsOfMaps(objects, own);
  const beside = below.filter(([, member]) => isObject(member) && isFlat(member));
  const hasBeside = beside.length > 0 && below.length > beside.length;
  const tables = hasBeside ? below.filter((entry) => !beside.includes(entry)) : below;
  const shared: Context = hasBeside ? { ...own, ...aboutTable(beside, known) } : own;
  // The keys of several tables of one form say what each is of, unless something else does.
  const row = firstRow(tables[0]?.[1]);
  const areDates = tables.every(([name]) => keyColumn(name) === "date");
  const isSaid = areDates ? saysTime(row) : saysSymbol(shared) || saysSymbol(row);
  const areNamed = tables.length > 1 && haveOneShape(tables) && !isSaid;
  for (const [name, member] of tables) {
    const isData = areNamed || (scalars.length === 0 && !hasBeside && DATA_KEY.test(name));
    yield* tablesIn(member, isData ? { ...shared, [keyColumn(name)]: name } : shared, known);
  }
}

/** The members of objects as those of one row. Names that several objects have are given with that of the object. */
function flattened(objects: readonly [string, JsonObject][]): TextRecord {
  const counts = new Map<string, number>();
  for (const [, members] of objects)
    for (const name of Object.keys(members)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const cells = objects.flatMap(([object, members]) =>
    Object.entries(members).map(([name, one]) => [
      counts.get(name) === 1 ? name : `${object}.${name}`,
      textOf(one),
    ]),
  );
  return Object.fromEntries(cells);
}

/** The first row of a table; of one whose rows are at keys, the first of these. */
function firstRow(value: Json | undefined): JsonObject {
  if (value === undefined) return {};
  if (Array.isArray(value)) return (value as readonly Json[]).find(isObject) ?? {};
  if (!isObject(value)) return {};
  const [first] = Object.values(value);
  return first !== undefined && isObject(first) ? first : value;
}

/** Whether the first rows of tables have the same members. */
function haveOneShape(tables: readonly (readonly [string, Json])[]): boolean {
  const shapes = new Set(tables.map(([, table]) => Object.keys(firstRow(table)).sort().join("\n")));
  return shapes.size === 1;
}

function saysSymbol(members: JsonObject): boolean {
  return Object.keys(members).some((name) => ABOUT_TABLE.test(plainName(name)));
}

function saysTime(members: JsonObject): boolean {
  return Object.keys(members).some((name) => /date|time|^t$/i.test(name));
}

/** Names of fields that an object beside a table may say for all of its rows. */
const ABOUT_TABLE = /^(?:\d_)?(?:symbol|ticker|code)$/;

/** The scalars of objects beside a table, such as `meta`. Fields of rows are not among them. */
function aboutTable(beside: readonly [string, Json][], known: ReadonlySet<string>): Context {
  const members = beside.flatMap(([, member]) => Object.entries(member as JsonObject));
  return Object.fromEntries(
    members
      .filter(([name]) => !known.has(plainName(name)) || ABOUT_TABLE.test(plainName(name)))
      .map(([name, one]) => [name, textOf(one)]),
  );
}

function keyColumn(key: string): string {
  if (/^\d{4}[-/]\d|^\d{8,}/.test(key)) return "date";
  return /^\d+$/.test(key) ? "row" : "symbol";
}

interface SplitTable extends JsonObject {
  readonly columns: readonly string[];
  readonly data: readonly (readonly Json[])[];
}

/** Whether an object is `{"columns": [...], "data": [[...], ...]}`, with or without an index, as pandas can write it. */
function isSplit(value: JsonObject): value is SplitTable {
  const { columns, data } = value;
  return (
    Array.isArray(columns) &&
    columns.every((name) => typeof name === "string") &&
    Array.isArray(data) &&
    data.every((row) => Array.isArray(row))
  );
}

/** Whether an object is a table with its schema beside it, which describes columns and has no rows. */
function isTableSchema(value: JsonObject): value is JsonObject & { readonly data: readonly Json[] } {
  const { schema, data } = value;
  return Array.isArray(data) && schema !== undefined && isObject(schema) && Array.isArray(schema.fields);
}

function* rowsOfSplit({ columns, data, index }: SplitTable, context: Context): Generator<TextRecord> {
  const keys = Array.isArray(index) ? (index as readonly Json[]) : undefined;
  for (const [at, row] of data.entries()) {
    const cells = columns.map((name, i) => [name, textOf(row[i] ?? null)]);
    yield { ...context, ...(keys && { index: textOf(keys[at] ?? null) }), ...Object.fromEntries(cells) };
  }
}

/** @throws {RangeError} where the arrays differ in length: it is not known which value is of which row. */
function* rowsOfColumns(
  value: JsonObject,
  lists: readonly [string, Json][],
  context: Context,
): Generator<TextRecord> {
  const lengths = new Set(lists.map(([, list]) => (list as readonly Json[]).length));
  if (lengths.size > 1) {
    const described = lists.map(([name, list]) => `${name} ${(list as readonly Json[]).length}`);
    throw new RangeError(`arrays of one table have different lengths: ${described.join(", ")}`);
  }
  const names = new Set(lists.map(([name]) => name));
  const scalars = Object.entries(value).filter(([name, member]) => !names.has(name) && !isObject(member));
  const own = { ...context, ...Object.fromEntries(scalars.map(([name, one]) => [name, textOf(one)])) };
  const [length = 0] = lengths;
  for (let row = 0; row < length; row++)
    yield {
      ...own,
      ...Object.fromEntries(
        lists.map(([name, list]) => [name, textOf((list as readonly Json[])[row] ?? null)]),
      ),
    };
}

/** The rows of a map from columns to maps from the rows' keys to values, as pandas writes a table by default. */
function* rowsOfMaps(objects: readonly [string, JsonObject][], context: Context): Generator<TextRecord> {
  const keys = new Set(objects.flatMap(([, column]) => Object.keys(column)));
  for (const key of keys)
    yield {
      ...context,
      [keyColumn(key)]: key,
      ...Object.fromEntries(objects.map(([name, column]) => [name, textOf(column[key] ?? null)])),
    };
}

function isObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isFlat(value: JsonObject): boolean {
  return Object.values(value).every((member) => !isObject(member) && !hasObjects(member));
}

function isList(value: Json): boolean {
  return (
    Array.isArray(value) &&
    (value as readonly Json[]).every((item) => typeof item !== "object" || item === null)
  );
}

function hasObjects(value: Json): boolean {
  return Array.isArray(value) && (value as readonly Json[]).some((item) => isObject(item));
}

/** A value as a cell of a CSV file has it, but for numbers; a list as JSON. */
function textOf(value: Json): string | number | null {
  if (value === null || typeof value === "number") return value;
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
