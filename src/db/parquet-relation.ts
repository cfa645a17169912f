import { type Column, DUCKDB_TYPE, type TableSchema } from "../schema/column.js";
import { ident, literal, literalList } from "./quote.js";
import type { Session } from "./session.js";

/** Live files of a table, and the columns that the table has. */
export interface ParquetFiles {
  readonly table: TableSchema;
  readonly columns: readonly Column[];
  /** Where DuckDB finds the files. */
  readonly urls: readonly string[];
  /** Whether a file may lack some of the columns: then each is opened to see. */
  readonly isMixed: boolean;
}

/**
 * A SELECT of all of a table's columns over an explicit list of its files. A column that a file does not have is null.
 *
 * @param options.withFile adds the column `live_file`, the URL of each row's file.
 */
export async function parquetRelation(
  session: Session,
  { table, columns, urls, isMixed }: ParquetFiles,
  options: { readonly withFile?: boolean } = {},
): Promise<string> {
  if (urls.length === 0) return emptyRelation(columns, options.withFile === true);
  const hiveTypes = table.partition.map((name) => {
    const type = columns.find((c) => c.name === name)?.type ?? "string";
    return `${literal(name)}: ${literal(DUCKDB_TYPE[type])}`;
  });
  const reader = [
    literalList(urls),
    "hive_partitioning = true",
    `hive_types = {${hiveTypes.join(", ")}}`,
    `union_by_name = ${isMixed}`,
    ...(options.withFile ? ["filename = 'live_file'"] : []),
  ];
  const source = `read_parquet(${reader.join(", ")})`;
  const present = isMixed ? await columnNames(session, source) : undefined;
  const select = columns.map((c) =>
    present && !present.has(c.name)
      ? `CAST(NULL AS ${DUCKDB_TYPE[c.type]}) AS ${ident(c.name)}`
      : ident(c.name),
  );
  if (options.withFile) select.push("live_file");
  return `SELECT ${select.join(", ")} FROM ${source}`;
}

function emptyRelation(columns: readonly Column[], withFile: boolean): string {
  const select = columns.map((c) => `CAST(NULL AS ${DUCKDB_TYPE[c.type]}) AS ${ident(c.name)}`);
  if (withFile) select.push("CAST(NULL AS VARCHAR) AS live_file");
  return `SELECT ${select.join(", ")} WHERE false`;
}

async function columnNames(session: Session, source: string): Promise<Set<string>> {
  const rows = await session.json<{ column_name: string }>(`DESCRIBE SELECT * FROM ${source}`);
  return new Set(rows.map((row) => row.column_name));
}
