import { type Column, DUCKDB_TYPE, type TableSchema } from "../schema/column.js";
import { ident, literal, literalList } from "./quote.js";
import type { Session } from "./session.js";

/** Names of types that DuckDB writes otherwise than we do. */
const LONG_NAME: Readonly<Record<string, string>> = { TIMESTAMPTZ: "TIMESTAMP WITH TIME ZONE" };

/** Live files of a table, and the columns that the table has. */
export interface ParquetFiles {
  readonly table: TableSchema;
  readonly columns: readonly Column[];
  /** Where DuckDB finds the files. */
  readonly urls: readonly string[];
  /** Those of them that another program wrote: their columns may be fewer, and their types others. @default none */
  readonly foreign?: readonly string[];
}

/**
 * A SELECT of all of a table's columns over an explicit list of its files. A column that a file does not have is null.
 *
 * @param options.withFile adds the column `live_file`, the URL of each row's file.
 */
export async function parquetRelation(
  session: Session,
  files: ParquetFiles,
  options: { readonly withFile?: boolean } = {},
): Promise<string> {
  const { table, columns, urls, foreign = [] } = files;
  const withFile = options.withFile === true;
  if (urls.length === 0) return emptyRelation(columns, withFile);
  const others = new Set(foreign);
  const own = urls.filter((url) => !others.has(url));
  const groups = [
    ...(own.length === 0 ? [] : [{ urls: own, isVaried: hasGrown(table, columns), isForeign: false }]),
    ...(await groupsOf(session, foreign)).map((some) => ({ urls: some, isVaried: false, isForeign: true })),
  ];
  const parts: string[] = [];
  for (const { urls: some, isVaried, isForeign } of groups) {
    const source = sourceOf({ table, columns, urls: some }, { withFile, isVaried });
    const found = isVaried || isForeign ? await columnTypes(session, source) : undefined;
    const select = columns.map((column) =>
      found ? valueSql(column, found.get(column.name)) : ident(column.name),
    );
    if (withFile) select.push("live_file");
    parts.push(`SELECT ${select.join(", ")} FROM ${source}`);
  }
  return parts.join(" UNION ALL ");
}

/** Whether a table has other columns than those it is declared with: its older files lack some then. */
function hasGrown(table: TableSchema, columns: readonly Column[]): boolean {
  return (
    table.open === true ||
    columns.length !== table.columns.length ||
    columns.some(({ name }, index) => name !== table.columns[index]?.name)
  );
}

/**
 * Files of other programs, those together that have the same columns in the same types. Spark writes instants that do
 * not say that they are in UTC (INT96): DuckDB would take them for local times if it read them beside others.
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

function sourceOf(
  { table, columns, urls }: ParquetFiles,
  { withFile, isVaried }: { readonly withFile: boolean; readonly isVaried: boolean },
): string {
  const hiveTypes = table.partition.map((name) => {
    const type = columns.find((c) => c.name === name)?.type ?? "string";
    return `${literal(name)}: ${literal(DUCKDB_TYPE[type])}`;
  });
  const reader = [
    literalList(urls),
    "hive_partitioning = true",
    `hive_types = {${hiveTypes.join(", ")}}`,
    `union_by_name = ${isVaried}`,
    ...(withFile ? ["filename = 'live_file'"] : []),
  ];
  return `read_parquet(${reader.join(", ")})`;
}

/** A column's values in the column's type, whatever type they have in the files. */
function valueSql({ name, type }: Column, found: string | undefined): string {
  const [wanted, column] = [DUCKDB_TYPE[type], ident(name)];
  if (found === undefined) return `CAST(NULL AS ${wanted}) AS ${column}`;
  if (found === wanted || found === LONG_NAME[wanted]) return column;
  if (found === "BLOB" && type === "string") return `decode(${column}) AS ${column}`;
  if (type !== "timestamp") return `CAST(${column} AS ${wanted}) AS ${column}`;
  return `timezone('UTC', CAST(${column} AS TIMESTAMP)) AS ${column}`;
}

function emptyRelation(columns: readonly Column[], withFile: boolean): string {
  const select = columns.map((c) => `CAST(NULL AS ${DUCKDB_TYPE[c.type]}) AS ${ident(c.name)}`);
  if (withFile) select.push("CAST(NULL AS VARCHAR) AS live_file");
  return `SELECT ${select.join(", ")} WHERE false`;
}

/** DuckDB's types of a source's columns, by name. */
async function columnTypes(session: Session, source: string): Promise<Map<string, string>> {
  const rows = await session.json<{ column_name: string; column_type: string }>(
    `DESCRIBE SELECT * FROM ${source}`,
  );
  return new Map(rows.map((row) => [row.column_name, row.column_type]));
}
