import { type Column, columnOf, DUCKDB_TYPE, type TableSchema } from "../schema/column.js";
import { ident, literal, literalList } from "./quote.js";
import type { Session } from "./session.js";

/** Live files of a table, and the columns that the table has. */
export interface ParquetFiles {
  readonly table: TableSchema;
  readonly columns: readonly Column[];
  /** Where DuckDB finds the files; their folders name the partition, as in `region=CN/`. */
  readonly urls: readonly string[];
  /** Whether a file may lack some of the columns. */
  readonly isMixed: boolean;
}

interface RelationOptions {
  /** Adds the column `live_file`, the URL of each row's file. @default false */
  readonly withFile?: boolean;
}

/**
 * A SELECT of all of a table's columns over an explicit list of its files. In mixed files, a column that one does not
 * have is null there. To bind it, DuckDB opens the first file; none, where they are mixed.
 */
export async function parquetRelation(
  _session: Session,
  files: ParquetFiles,
  { withFile = false }: RelationOptions = {},
): Promise<string> {
  if (files.urls.length === 0) return emptyRelation(files.columns, withFile);
  return files.isMixed ? mixedRelation(files, withFile) : hiveRelation(files, withFile);
}

function hiveRelation({ table, columns, urls }: ParquetFiles, withFile: boolean): string {
  const types = table.partition.map(
    (name) => `${literal(name)}: ${literal(DUCKDB_TYPE[columnOf(table, name).type])}`,
  );
  const options = ["hive_partitioning = true", `hive_types = {${types.join(", ")}}`];
  return selectSql(
    columns.map(({ name }) => ident(name)),
    urls,
    options,
    withFile,
  );
}

/**
 * Files that do not have the same columns. The schema is told to DuckDB, which otherwise would open them
 * all to find out; it then takes no partition values from folders, so each partition is read by itself.
 */
function mixedRelation({ table, columns, urls }: ParquetFiles, withFile: boolean): string {
  const byPartition = new Map<string, string[]>();
  for (const url of urls) {
    const key = JSON.stringify(table.partition.map((name) => partitionValue(url, name)));
    byPartition.set(key, [...(byPartition.get(key) ?? []), url]);
  }
  const stored = columns.filter(({ name }) => !table.partition.includes(name));
  const schema = stored.map(
    ({ name, type }) =>
      `${literal(name)}: {'name': ${literal(name)}, 'type': ${literal(DUCKDB_TYPE[type])}, 'default_value': NULL}`,
  );
  const options = ["hive_partitioning = false", `schema = MAP {${schema.join(", ")}}`];
  const parts = [...byPartition].map(([key, members]) => {
    const values = JSON.parse(key) as (string | null)[];
    const select = columns.map(({ name, type }) => {
      const at = table.partition.indexOf(name);
      if (at < 0) return ident(name);
      const value = values[at] ?? null;
      return `CAST(${value === null ? "NULL" : literal(value)} AS ${DUCKDB_TYPE[type]}) AS ${ident(name)}`;
    });
    return selectSql(select, members, options, withFile);
  });
  return parts.join("\nUNION ALL\n");
}

function selectSql(
  columns: readonly string[],
  urls: readonly string[],
  options: readonly string[],
  withFile: boolean,
): string {
  const reader = [literalList(urls), ...options, ...(withFile ? ["filename = 'live_file'"] : [])];
  const select = [...columns, ...(withFile ? ["live_file"] : [])];
  return `SELECT ${select.join(", ")} FROM read_parquet(${reader.join(", ")})`;
}

/** Value of a partition column, from the folder that names it; null is written as Hive does. */
function partitionValue(url: string, name: string): string | null {
  const folder = url.split("/").findLast((part) => part.startsWith(`${name}=`));
  const value = decodeURIComponent(folder?.slice(name.length + 1) ?? "");
  return value === "" || value === "__HIVE_DEFAULT_PARTITION__" ? null : value;
}

function emptyRelation(columns: readonly Column[], withFile: boolean): string {
  const select = columns.map((c) => `CAST(NULL AS ${DUCKDB_TYPE[c.type]}) AS ${ident(c.name)}`);
  if (withFile) select.push("CAST(NULL AS VARCHAR) AS live_file");
  return `SELECT ${select.join(", ")} WHERE false`;
}
