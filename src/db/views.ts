import { BarlakeError, messageOf } from "../core/errors.js";
import { DUCKDB_TYPE } from "../schema/column.js";
import { type ParquetFiles, parquetRelation } from "./parquet-relation.js";
import { ident, literal } from "./quote.js";
import type { Session } from "./session.js";
import {
  applyViewFiles,
  filesNeededBy,
  OWN_VIEWS,
  readViewFiles,
  type ViewFile,
  wordsOf,
} from "./view-files.js";

/** A part of a table's files, and a condition that is true for all their rows. */
export interface ViewBranch {
  readonly urls: readonly string[];
  /** A condition that every row meets: a query whose own conditions exclude it opens none of the files. */
  readonly where: string | undefined;
}

/** A table as its view shows it. */
export interface ViewedTable extends ParquetFiles {
  /**
   * Why the table cannot be read: each statement that reads its view fails with this message.
   * @default it is readable
   */
  readonly refused?: string;
  /** All files, in parts. @default one part without a condition */
  readonly branches?: readonly ViewBranch[];
}

/** How a lake's views are created. */
export interface ViewOptions {
  /** More views of the schema `raw`, by name. @default none */
  readonly extra?: Readonly<Record<string, string>>;
  /** Creates only what this statement mentions, and what that needs. @default everything */
  readonly statement?: string | undefined;
  /**
   * A database with all views over tables of the same columns without files. They are copied instead of created: this
   * takes a tenth of the time, because DuckDB binds none of them. @default none
   */
  readonly template?: string | undefined;
}

/**
 * Creates a lake's views in an empty database: `raw.<table>` over exactly the given files, with the comments of the
 * schema, and over these the views and macros of `sql/views`. On an error it creates none.
 *
 * @param tables the live files of every table.
 * @throws {ViewFileError} when a view's file cannot be applied, naming file, line and what is missing.
 */
export async function createViews(
  session: Session,
  tables: readonly ViewedTable[],
  { extra = {}, statement, template }: ViewOptions = {},
): Promise<void> {
  const own = readViewFiles(OWN_VIEWS);
  const files = statement === undefined ? own : filesNeededBy(statement, own);
  const mentioned = wordsOf([statement, ...files.map(({ sql }) => sql)].join("\n"));
  const isNeeded = (name: string): boolean => statement === undefined || mentioned.has(name);
  if (template !== undefined) await session.run(`ATTACH ${literal(template)} AS view_template (READ_ONLY)`);
  // One transaction: a database file is synchronised once, not after each statement.
  await inTransaction(session, async () => {
    if (template === undefined) await session.run("CREATE SCHEMA raw");
    else await copyTemplate(session);
    // So that a statement that mentions it after all fails, and does not find a table without rows.
    const dropped = (name: string) => template !== undefined && session.run(`DROP VIEW raw.${ident(name)}`);
    for (const viewed of tables) {
      if (!isNeeded(viewed.table.name)) await dropped(viewed.table.name);
      else if (template === undefined || !isEmpty(viewed))
        await createRawView(session, viewed, statement === undefined);
    }
    for (const [name, sql] of Object.entries(extra)) {
      if (isNeeded(name)) await session.run(`CREATE OR REPLACE VIEW raw.${ident(name)} AS ${sql}`);
      else await dropped(name);
    }
    if (template !== undefined) return;
    const [fault] = await applyViewFiles(files, (sql) => session.run(sql));
    if (fault !== undefined) throw fault;
    if (statement === undefined) await inheritComments(session);
  }).finally(() => template && session.run("DETACH view_template"));
}

function isEmpty({ urls, refused }: ViewedTable): boolean {
  return urls.length === 0 && refused === undefined;
}

async function copyTemplate(session: Session): Promise<void> {
  const [database] = await session.json<{ name: string }>("SELECT current_database() AS name");
  await session.run(`COPY FROM DATABASE view_template TO ${ident(database?.name ?? "")}`);
}

async function inTransaction(session: Session, work: () => Promise<unknown>): Promise<void> {
  await session.run("BEGIN TRANSACTION");
  try {
    await work();
    await session.run("COMMIT");
  } catch (error) {
    await session.run("ROLLBACK");
    throw error;
  }
}

/** Columns without a comment in a view's file get the schema's comment from the table of the same name. */
async function inheritComments(session: Session): Promise<void> {
  const unsaid = await session.json<{ view: string; name: string; comment: string }>(
    `SELECT v.table_name AS "view", v.column_name AS name, r.comment
     FROM duckdb_columns() AS v
     JOIN duckdb_columns() AS r USING (database_name, table_name, column_name)
     WHERE v.database_name = current_database() AND v.schema_name = 'main' AND r.schema_name = 'raw'
       AND v.comment IS NULL AND r.comment IS NOT NULL`,
  );
  const comments = unsaid.map(
    ({ view, name, comment }) =>
      `COMMENT ON COLUMN main.${ident(view)}.${ident(name)} IS ${literal(comment)}`,
  );
  if (comments.length > 0) await session.run(comments.join(";\n"));
}

/**
 * Creates the user's own views over those of the lake: every `*.sql` of a folder, each file completely or not at all.
 *
 * @returns an error for each file that cannot be applied, or for the folder.
 */
export async function createUserViews(session: Session, folder: string): Promise<readonly BarlakeError[]> {
  let files: readonly ViewFile[];
  try {
    files = readViewFiles(folder);
  } catch (cause) {
    return [new BarlakeError(`view folder ${folder} cannot be read: ${messageOf(cause)}`, { cause })];
  }
  return applyViewFiles(files, (sql) => inTransaction(session, () => session.run(sql)));
}

async function createRawView(session: Session, viewed: ViewedTable, hasComments: boolean): Promise<void> {
  const view = `raw.${ident(viewed.table.name)}`;
  const sql = `CREATE OR REPLACE VIEW ${view} AS ${await viewSql(session, viewed)}`;
  if (!hasComments) {
    await session.run(sql);
    return;
  }
  const comments = viewed.columns.map(({ name, doc, unit }) => {
    const comment = literal(unit ? `${doc} [${unit}]` : doc);
    return `COMMENT ON COLUMN ${view}.${ident(name)} IS ${comment}`;
  });
  const statements = [sql, `COMMENT ON VIEW ${view} IS ${literal(viewed.table.doc)}`, ...comments];
  await session.run(statements.join(";\n"));
}

/** Finds out why a table's view cannot be created. @returns undefined where it can. */
export async function viewFault(session: Session, viewed: ViewedTable): Promise<BarlakeError | undefined> {
  try {
    await session.run(`DESCRIBE ${await viewSql(session, viewed)}`);
    return undefined;
  } catch (error) {
    if (error instanceof BarlakeError) return error;
    throw error;
  }
}

/**
 * A relation with a table's columns that always fails to read, whichever columns or rows a query selects: DuckDB cannot
 * evaluate `error()` before the query runs.
 */
function refusedRelation(columns: ViewedTable["columns"], message: string): string {
  const error = `error(${literal(message)})`;
  const select = columns.map(({ name, type }) => `CAST(${error} AS ${DUCKDB_TYPE[type]}) AS ${ident(name)}`);
  return `SELECT ${select.join(", ")} WHERE CAST(${error} AS BOOLEAN)`;
}

async function viewSql(session: Session, viewed: ViewedTable): Promise<string> {
  const { branches, refused } = viewed;
  if (refused !== undefined) return refusedRelation(viewed.columns, refused);
  if (branches === undefined) return parquetRelation(session, viewed);
  const parts: string[] = [];
  for (const { urls, where } of branches) {
    const rows = await parquetRelation(session, { ...viewed, urls });
    parts.push(where === undefined ? rows : `${rows} WHERE ${where}`);
  }
  return parts.join("\nUNION ALL\n");
}
