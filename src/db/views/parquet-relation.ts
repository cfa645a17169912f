import { fileURLToPath } from "node:url";
import { groupBy } from "../../core/group-by.js";
import { type Column, columnOf, DUCKDB_TYPE, type TableSchema } from "../../schema/column.js";
import { ident, literal, literalList } from "../quote.js";
import type { Session } from "../session/session.js";

/** Fewest files of a list that is stored as a type. */
const LEAST_STORED = 32;

const INFIX = "_files_";

/** Names of files, stored in a database as the values of an ENUM. */
export interface FileList {
  /** The name of the type in the schema `raw`. */
  readonly name: string;
  readonly urls: readonly string[];
}

/**
 * The lists of files that a view reads. A long list is an ENUM type next to the view, which any DuckDB client reads:
 * the view is short, and when files are added only the type is created again, not the view.
 */
export class FileLists {
  readonly #table: string;
  readonly #stored: FileList[] = [];

  constructor(table: string) {
    this.#table = table;
  }

  /** An expression of a list of files, which need not exist as a type yet. */
  sqlOf(urls: readonly string[]): string {
    if (urls.length < LEAST_STORED) return literalList(urls);
    const name = `${this.#table}${INFIX}${this.#stored.length + 1}`;
    this.#stored.push({ name, urls });
    return `CAST(enum_range(CAST(NULL AS ${typeSql(name)})) AS VARCHAR[])`;
  }

  get stored(): readonly FileList[] {
    return this.#stored;
  }
}

/** Creates the type of a list, or replaces it. */
export async function storeList(session: Session, { name, urls }: FileList): Promise<void> {
  await session.run(`DROP TYPE IF EXISTS ${typeSql(name)}`);
  await session.run(`CREATE TYPE ${typeSql(name)} AS ENUM (${urls.map(literal).join(", ")})`);
}

export async function dropLists(session: Session, table: string): Promise<void> {
  const types = await session.json<{ name: string }>(
    `SELECT type_name AS name FROM duckdb_types()
     WHERE database_name = current_database() AND schema_name = 'raw' AND starts_with(type_name, $1)`,
    [`${table}${INFIX}`],
  );
  for (const { name } of types) await session.run(`DROP TYPE ${typeSql(name)}`);
}

function typeSql(name: string): string {
  return `raw.${ident(name)}`;
}

/**
 * A Parquet file that comes with barlake, without rows and without a column of a table. DuckDB reads a list of one file
 * with one thread where it has not opened the file to bind the query, and a list of two with all threads.
 */
export const NO_ROWS = fileURLToPath(new URL("../../../sql/no-rows.parquet", import.meta.url));

/** DuckDB's own names of types, where they differ from the names used here. */
const LONG_NAME: Readonly<Record<string, string>> = { TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE" };

/** Live files of a table, and the columns that the table has. */
export interface ParquetFiles {
  readonly table: TableSchema;
  readonly columns: readonly Column[];
  /** Where DuckDB finds the files. */
  readonly urls: readonly string[];
  /** Partition values of the files whose folder names do not give them, as `region=CN/year=2026/` does. */
  readonly loose?: ReadonlyMap<string, PartitionValues>;
  /** Whether a file may lack some of the columns. */
  readonly isMixed: boolean;
  /** Whether it takes requests to open a file: then none is opened to bind a SELECT. @default false */
  readonly isRemote?: boolean;
  /** Files that another program wrote: they may lack columns and have other types. @default none */
  readonly foreign?: readonly string[];
}

/** Values of a file's partition columns, by name, as the log writes them. */
export type PartitionValues = Readonly<Record<string, string | null>>;

interface RelationOptions {
  /** Adds the column `live_file`, the URL of each row's file. @default false */
  readonly withFile?: boolean;
  /** Takes the lists of files, to store long ones. @default lists are part of the SELECT */
  readonly lists?: FileLists | undefined;
}

/**
 * A SELECT of all of a table's columns over an explicit list of its files. In mixed files, a column that a file lacks
 * is null. To bind the SELECT, DuckDB opens the first file; for mixed files none.
 */
export async function parquetRelation(
  session: Session,
  files: ParquetFiles,
  options: RelationOptions = {},
): Promise<string> {
  if (files.urls.length === 0) return emptyRelation(files.columns, options.withFile === true);
  const others = new Set(files.foreign);
  const isLoose = (url: string): boolean => files.loose?.has(url) === true;
  const own = { ...files, urls: files.urls.filter((url) => !others.has(url) && !isLoose(url)) };
  const foreign = files.urls.filter((url) => others.has(url) && !isLoose(url));
  const parts: string[] = [];
  if (own.urls.length > 0)
    parts.push(
      own.isMixed || own.isRemote
        ? mixedRelation(own, options, own.isRemote === true && session.isInMemory)
        : hiveRelation(own, options),
    );
  for (const urls of await groupsOf(session, foreign))
    parts.push(await foreignRelation(session, { ...files, urls }, options));
  for (const [values, urls] of byValues(files, files.urls.filter(isLoose)))
    for (const group of await groupsOf(session, urls))
      parts.push(await foreignRelation(session, { ...files, urls: group }, options, values));
  return parts.join("\nUNION ALL\n");
}

function byValues(
  { table, loose }: ParquetFiles,
  urls: readonly string[],
): Map<PartitionValues, readonly string[]> {
  const valuesOf = (url: string): PartitionValues => loose?.get(url) ?? {};
  const groups = groupBy(urls, (url) =>
    JSON.stringify(table.partition.map((name) => valuesOf(url)[name] ?? null)),
  );
  return new Map(Array.from(groups.values(), (group) => [valuesOf(group[0] as string), group]));
}

function hiveRelation(files: ParquetFiles, options: RelationOptions): string {
  const names = files.columns.map(({ name }) => ident(name));
  return selectSql(names, files.urls, hiveOptions(files), options);
}

function hiveOptions({ table }: ParquetFiles): string[] {
  const types = table.partition.map(
    (name) => `${literal(name)}: ${literal(DUCKDB_TYPE[columnOf(table, name).type])}`,
  );
  return ["hive_partitioning = true", `hive_types = {${types.join(", ")}}`];
}

/**
 * Files of another program that all have the same columns: each value is cast to the type in the table.
 * @param values the partition values of those whose folder names do not give them.
 */
async function foreignRelation(
  session: Session,
  files: ParquetFiles,
  relation: RelationOptions,
  values?: PartitionValues,
): Promise<string> {
  const options = values === undefined ? hiveOptions(files) : ["hive_partitioning = false"];
  const described = await session.json<{ column_name: string; column_type: string }>(
    `DESCRIBE ${selectSql(["*"], files.urls, options, {})}`,
  );
  const found = new Map(described.map((row) => [row.column_name, row.column_type]));
  const select = files.columns.map((column) =>
    values !== undefined && files.table.partition.includes(column.name)
      ? constantSql(column, values[column.name] ?? null)
      : valueSql(column, found.get(column.name)),
  );
  return selectSql(select, files.urls, options, relation);
}

function constantSql({ name, type }: Column, value: string | null): string {
  return `CAST(${value === null || value === "" ? "NULL" : literal(value)} AS ${DUCKDB_TYPE[type]}) AS ${ident(name)}`;
}

/**
 * Groups files of other programs by their columns and types. Spark writes instants without the mark that they are in
 * UTC (INT96): DuckDB would read them as local times together with others.
 */
async function groupsOf(session: Session, urls: readonly string[]): Promise<string[][]> {
  if (urls.length === 0) return [];
  const groups = await session.json<{ urls: string[] }>(
    `SELECT list(url ORDER BY url) AS urls
     FROM (
       SELECT file_name AS url, list({n: name, t: duckdb_type, c: num_children} ORDER BY column_id) AS columns
       FROM parquet_schema(${literalList(urls)}) GROUP BY file_name
     )
     GROUP BY columns ORDER BY urls`,
  );
  return groups.map((group) => group.urls);
}

function valueSql({ name, type }: Column, found: string | undefined): string {
  const [target, column] = [DUCKDB_TYPE[type], ident(name)];
  if (found === undefined) return `CAST(NULL AS ${target}) AS ${column}`;
  if (found === target || found === LONG_NAME[target]) return column;
  if (found === "BLOB" && type === "string") return `decode(${column}) AS ${column}`;
  if (type !== "timestamp") return `CAST(${column} AS ${target}) AS ${column}`;
  return `timezone('UTC', CAST(${column} AS TIMESTAMP)) AS ${column}`;
}

/**
 * Files that do not have the same columns. The schema is passed to DuckDB, which otherwise would open all files to find
 * it. It then takes no partition values from folder names, so each partition has its own SELECT. @param hasAllThreads
 * whether a list of one file gets {@link NO_ROWS}: a database file, which other clients open, does not name files of
 * this program.
 */
function mixedRelation(
  { table, columns, urls }: ParquetFiles,
  relation: RelationOptions,
  hasAllThreads: boolean,
): string {
  const byPartition = groupBy(urls, (url) =>
    JSON.stringify(table.partition.map((name) => partitionValue(url, name))),
  );
  const stored = columns.filter(({ name }) => !table.partition.includes(name));
  const schema = stored.map(
    ({ name, type }) =>
      `${literal(name)}: {'name': ${literal(name)}, 'type': ${literal(DUCKDB_TYPE[type])}, 'default_value': NULL}`,
  );
  const options = ["hive_partitioning = false", `schema = MAP {${schema.join(", ")}}`];
  const parts = [...byPartition].map(([key, members]) => {
    const values = JSON.parse(key) as (string | null)[];
    const select = columns.map((column) => {
      const at = table.partition.indexOf(column.name);
      return at < 0 ? ident(column.name) : constantSql(column, values[at] ?? null);
    });
    const read = members.length === 1 && hasAllThreads ? [...members, NO_ROWS] : members;
    return selectSql(select, read, options, relation);
  });
  return parts.join("\nUNION ALL\n");
}

function selectSql(
  columns: readonly string[],
  urls: readonly string[],
  options: readonly string[],
  { withFile = false, lists }: RelationOptions,
): string {
  const list = lists?.sqlOf(urls) ?? literalList(urls);
  const reader = [list, ...options, ...(withFile ? ["filename = 'live_file'"] : [])];
  const select = [...columns, ...(withFile ? ["live_file"] : [])];
  return `SELECT ${select.join(", ")} FROM read_parquet(${reader.join(", ")})`;
}

/** Value of a partition column, from the folder that names it; null is written as Hive does. */
export function partitionValue(url: string, name: string): string | null {
  const folder = url.split("/").findLast((part) => part.startsWith(`${name}=`));
  const value = decodeURIComponent(folder?.slice(name.length + 1) ?? "");
  return value === "" || value === "__HIVE_DEFAULT_PARTITION__" ? null : value;
}

function emptyRelation(columns: readonly Column[], withFile: boolean): string {
  const select = columns.map((c) => `CAST(NULL AS ${DUCKDB_TYPE[c.type]}) AS ${ident(c.name)}`);
  if (withFile) select.push("CAST(NULL AS VARCHAR) AS live_file");
  return `SELECT ${select.join(", ")} WHERE false`;
}
