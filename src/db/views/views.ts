import { createHash, randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { version } from "../../arrow/duckdb-api.js";
import { BarlakeError, messageOf } from "../../core/errors.js";
import type { TableSchema } from "../../schema/column.js";
import { ident, literal } from "../quote.js";
import { Session } from "../session/session.js";
import { createRawView, type RawView, rawViewOf, type ViewedTable } from "./raw-view.js";
import {
  applyViewFiles,
  filesNeededBy,
  ownViewFiles,
  readViewFiles,
  type ViewFile,
  wordsOf,
} from "./view-files.js";

interface ViewOptions {
  /** More views of the schema `raw`, by name. @default none */
  readonly extra?: Readonly<Record<string, string>>;
  /** Creates only what this statement mentions, and what that needs. @default everything */
  readonly statement?: string | undefined;
  /**
   * A database with all views over tables of the same columns without files: they are copied, as DuckDB then binds none
   * of them. @default they are created
   */
  readonly template?: string | undefined;
}

/**
 * Creates a lake's views in an empty database: `raw.<table>` over exactly the given files, with the comments of the
 * schema, and over these the views and macros of `sql/views`. On an error it creates none.
 *
 * @throws {ViewFileError} when a view's file cannot be applied, naming file, line and what is missing.
 */
export async function createViews(
  session: Session,
  tables: readonly ViewedTable[],
  { extra = {}, statement, template }: ViewOptions = {},
): Promise<readonly RawView[]> {
  const { files, isNeeded } = neededBy(statement);
  const made: RawView[] = [];
  const create = async (): Promise<void> => {
    if (template === undefined) await session.run("CREATE SCHEMA raw");
    else await copyTemplate(session);
    for (const viewed of tables) {
      if (!isNeeded(viewed.table.name)) continue;
      const view = await rawViewOf(session, viewed);
      made.push(view);
      if (template === undefined || !isEmpty(viewed))
        await createRawView(session, view, { hasComments: statement === undefined });
    }
    const needed = Object.entries(extra).filter(([name]) => isNeeded(name));
    await replaceExtraViews(session, Object.fromEntries(needed));
    if (template !== undefined) {
      // Otherwise a statement that mentions the view after all would find a table without rows instead of failing.
      const names = [...tables.map(({ table }) => table.name), ...Object.keys(extra)];
      const dropped = names.filter((name) => !isNeeded(name)).map((name) => `DROP VIEW raw.${ident(name)}`);
      if (dropped.length > 0) await session.run(dropped.join(";\n"));
      return;
    }
    const [fault] = await applyViewFiles(files, (sql) => session.run(sql));
    if (fault !== undefined) throw fault;
    if (statement === undefined) await inheritComments(session);
  };
  if (template !== undefined) await session.run(`ATTACH ${literal(template)} AS view_template (READ_ONLY)`);
  try {
    // One transaction: a database file is synchronised once, not after each statement.
    await inTransaction(session, create);
  } finally {
    if (template !== undefined) await session.run("DETACH view_template");
  }
  return made;
}

export async function replaceExtraViews(
  session: Session,
  views: Readonly<Record<string, string>>,
): Promise<void> {
  for (const [name, sql] of Object.entries(views))
    await session.run(`CREATE OR REPLACE VIEW raw.${ident(name)} AS ${sql}`);
}

interface Needed {
  /** Files of `sql/views`, each after those that it needs. */
  readonly files: readonly ViewFile[];
  /** Whether a view of the schema `raw` is needed. */
  readonly isNeeded: (name: string) => boolean;
}

export function neededBy(statement: string | undefined): Needed {
  const own = ownViewFiles();
  if (statement === undefined) return { files: own, isNeeded: () => true };
  // Names are the same in small and large letters.
  const text = statement.toLowerCase();
  const files = filesNeededBy(text, own);
  const mentioned = wordsOf([text, ...files.map(({ sql }) => sql)].join("\n"));
  return { files, isNeeded: (name) => mentioned.has(name) };
}

function isEmpty({ urls, branches, refused, copied, shown }: ViewedTable): boolean {
  const hasOthers = shown !== undefined && shown.of.length > 0;
  return urls.length === 0 && !hasOthers && [branches, refused, copied].every((other) => other === undefined);
}

async function copyTemplate(session: Session): Promise<void> {
  const [database] = await session.json<{ name: string }>("SELECT current_database() AS name");
  await session.run(`COPY FROM DATABASE view_template TO ${ident(database?.name ?? "")}`);
}

export async function inTransaction(session: Session, work: () => Promise<unknown>): Promise<void> {
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
 * Creates the user's own views: every `*.sql` of a folder, each file completely or not at all. @returns an error for
 * each file that cannot be applied, or for the folder.
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

/** The folder of what is built; the same one for the sources and for the built program. */
const FOLDER = fileURLToPath(new URL("../../../dist", import.meta.url));

const PREFIX = "views-";

/** What all lakes have, in addition to the files of `sql/views`: their tables and the extra views of the schema `raw`. */
export interface TemplateContent {
  readonly tables: readonly TableSchema[];
  /** Views of the schema `raw` that are no tables, by name: a query with their columns. */
  readonly extra: Readonly<Record<string, string>>;
}

/**
 * The path of the template of a lake's views. Its name has a hash of everything that it is made of, so that no template
 * of other views or of another version of DuckDB is used.
 */
export function templatePath(content: TemplateContent): string {
  const sources = [version(), JSON.stringify(content), ...ownViewFiles().map(({ sql }) => sql)];
  const hash = createHash("sha256").update(sources.join("\0")).digest("hex");
  return join(FOLDER, `${PREFIX}${hash.slice(0, 16)}.duckdb`);
}

/**
 * Builds the template, and deletes earlier ones. DuckDB's older formats lose parts of a query, such as NOT
 * MATERIALIZED.
 */
export async function buildTemplate(content: TemplateContent): Promise<void> {
  const path = templatePath(content);
  const staged = join(FOLDER, `${randomUUID()}.duckdb`);
  const tables = content.tables.map((table) => ({ table, columns: table.columns, urls: [], isMixed: false }));
  using session = await Session.open();
  await createViews(session, tables, { extra: content.extra });
  await session.run(`ATTACH ${literal(staged)} AS template (STORAGE_VERSION 'latest')`);
  await session.run("COPY FROM DATABASE memory TO template");
  await session.run("DETACH template");
  const old = readdirSync(FOLDER).filter((name) => name.startsWith(PREFIX));
  await rename(staged, path);
  for (const name of old) if (join(FOLDER, name) !== path) await rm(join(FOLDER, name));
}
