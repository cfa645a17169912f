import { createHash } from "node:crypto";
import { BarlakeError } from "../../core/errors.js";
import { type Column, DUCKDB_TYPE } from "../../schema/column.js";
import { ident, literal } from "../quote.js";
import type { Session } from "../session/session.js";
import {
  type FileList,
  FileLists,
  type ParquetFiles,
  parquetRelation,
  storeList,
} from "./parquet-relation.js";

export interface ViewBranch {
  readonly rows: ParquetFiles | string;
  /** A condition that every row meets: a query whose own conditions exclude it reads nothing of the part. */
  readonly where: string | undefined;
}

export interface ShownRows {
  /** @param others SELECTs of `of`. */
  readonly query: (rows: string, others: readonly string[]) => string;
  readonly of: readonly ParquetFiles[];
}

export interface ViewedTable extends ParquetFiles {
  /** Why the table cannot be read: each statement that reads its view fails with this message. */
  readonly refused?: string;
  /** All rows, in parts; then `urls` is not read. @default one part without a condition */
  readonly branches?: readonly ViewBranch[];
  /** Makes of the query of all rows that of the rows that the view shows. @default all are shown */
  readonly shown?: ShownRows | undefined;
  /** A query of this database that has the rows of all files; then no file is read. @default the files */
  readonly copied?: string;
}

/** The view `raw.<table>` over a table's files, and the lists of files that it reads. */
export interface RawView {
  readonly table: string;
  readonly query: string;
  /** Those of its SELECTs that read files, where the others query this database. */
  readonly ofFiles: readonly string[];
  readonly comments: readonly string[];
  readonly lists: readonly FileList[];
}

/** @param listsName what the names of its lists begin with. */
export async function rawViewOf(
  session: Session,
  viewed: ViewedTable,
  listsName = viewed.table.name,
): Promise<RawView> {
  const { table, columns } = viewed;
  const lists = new FileLists(listsName);
  const parts = await partsOf(session, viewed, lists);
  const others: string[] = [];
  for (const files of viewed.shown?.of ?? []) others.push(await parquetRelation(session, files, { lists }));
  const rows = queryOf(parts);
  const view = `raw.${ident(table.name)}`;
  const comments = columns.map((column) => columnComment(view, column));
  return {
    table: table.name,
    query: viewed.shown === undefined ? rows : viewed.shown.query(rows, others),
    ofFiles: parts.filter(({ isOfFiles }) => isOfFiles).map(({ sql }) => sql),
    comments: [`COMMENT ON VIEW ${view} IS ${literal(table.doc)}`, ...comments],
    lists: lists.stored,
  };
}

/** The statement of the schema's comment on a column of a view. @param view SQL of its name. */
export function columnComment(view: string, { name, doc, unit }: Column): string {
  return `COMMENT ON COLUMN ${view}.${ident(name)} IS ${literal(unit ? `${doc} [${unit}]` : doc)}`;
}

/**
 * Creates or replaces a table's view. DuckDB looks up every file of the lists when it binds a view: it is created while
 * each list has one file, and the lists are completed afterwards.
 */
export async function createRawView(
  session: Session,
  { table, query, comments, lists }: RawView,
  { hasComments }: { readonly hasComments: boolean },
): Promise<void> {
  for (const { name, urls } of lists) await storeList(session, { name, urls: urls.slice(0, 1) });
  const sql = `CREATE OR REPLACE VIEW raw.${ident(table)} AS ${query}`;
  await session.run(hasComments ? [sql, ...comments].join(";\n") : sql);
  for (const list of lists) await storeList(session, list);
}

export async function viewFault(session: Session, viewed: ViewedTable): Promise<BarlakeError | undefined> {
  try {
    await session.run(`DESCRIBE ${queryOf(await partsOf(session, viewed, undefined))}`);
    return undefined;
  } catch (error) {
    if (error instanceof BarlakeError) return error;
    throw error;
  }
}

export function hashOf(texts: Iterable<string>): string {
  const hash = createHash("sha256");
  for (const text of texts) hash.update(text).update("\0");
  return hash.digest("hex").slice(0, 32);
}
/** A relation that always fails to read: DuckDB cannot evaluate `error()` before the query runs. */
function refusedRelation(columns: ViewedTable["columns"], message: string): string {
  const error = `error(${literal(message)})`;
  const select = columns.map(({ name, type }) => `CAST(${error} AS ${DUCKDB_TYPE[type]}) AS ${ident(name)}`);
  return `SELECT ${select.join(", ")} WHERE CAST(${error} AS BOOLEAN)`;
}

interface ViewPart {
  readonly sql: string;
  readonly isOfFiles: boolean;
}

async function partsOf(
  session: Session,
  viewed: ViewedTable,
  lists: FileLists | undefined,
): Promise<readonly ViewPart[]> {
  const { branches, refused, copied } = viewed;
  if (copied !== undefined) return [{ sql: copied, isOfFiles: false }];
  if (refused !== undefined) return [{ sql: refusedRelation(viewed.columns, refused), isOfFiles: false }];
  if (branches === undefined)
    return [{ sql: await parquetRelation(session, viewed, { lists }), isOfFiles: true }];
  const parts: ViewPart[] = [];
  for (const { rows, where } of branches) {
    const isOfFiles = typeof rows !== "string";
    const sql = isOfFiles ? await parquetRelation(session, rows, { lists }) : rows;
    parts.push({ sql: where === undefined ? sql : `${sql} WHERE ${where}`, isOfFiles });
  }
  return parts;
}

function queryOf(parts: readonly ViewPart[]): string {
  return parts.map(({ sql }) => sql).join("\nUNION ALL\n");
}
