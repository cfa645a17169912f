import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { BarlakeError, messageOf, QueryError } from "../core/errors.js";
import { type ParquetFiles, parquetRelation } from "./parquet-relation.js";
import { ident, literal } from "./quote.js";
import type { Session } from "./session.js";

/** The views that come with barlake, one a file. */
const OWN_VIEWS = fileURLToPath(new URL("../../sql/views", import.meta.url));

/** A part of a table's files, and what is true of each of their rows. */
export interface ViewBranch {
  readonly urls: readonly string[];
  /** A condition that every row keeps, so that a query whose own conditions exclude it opens none of the files. */
  readonly where: string | undefined;
}

/** A table as its view shows it. */
export interface ViewedTable extends ParquetFiles {
  /** All files, in parts. @default one part, of which nothing is known */
  readonly branches?: readonly ViewBranch[];
}

/** One SQL file that defines a view. */
interface ViewFile {
  readonly path: string;
  readonly sql: string;
}

/**
 * Lays a lake's views: `raw.<table>` over exactly the given files, with the comments of the schema, and over these the
 * views of `sql/views`; all of them or, on an error, none. A list of files is bound once for its own view and once for
 * each view over it; the comments are set without binding.
 *
 * @param tables the live files of every table.
 * @param extra more views of the schema `raw`, by name.
 * @throws {BarlakeError} when a view's file cannot be applied, naming the file.
 */
export async function createViews(
  session: Session,
  tables: readonly ViewedTable[],
  extra: Readonly<Record<string, string>> = {},
): Promise<void> {
  // One transaction: a database file is synchronised once, not after each of some 150 statements.
  await session.run("BEGIN TRANSACTION");
  try {
    await session.run("CREATE SCHEMA IF NOT EXISTS raw");
    for (const table of tables) await createRawView(session, table);
    for (const [name, sql] of Object.entries(extra)) {
      await session.run(`CREATE OR REPLACE VIEW raw.${ident(name)} AS ${sql}`);
    }
    await applyViewFiles(session, readViewFiles(OWN_VIEWS));
    await session.run("COMMIT");
  } catch (error) {
    await session.run("ROLLBACK");
    throw error;
  }
}

async function createRawView(session: Session, viewed: ViewedTable): Promise<void> {
  const view = `raw.${ident(viewed.table.name)}`;
  const comments = viewed.columns.map(({ name, doc, unit }) => {
    const comment = literal(unit ? `${doc} [${unit}]` : doc);
    return `COMMENT ON COLUMN ${view}.${ident(name)} IS ${comment}`;
  });
  const statements = [
    `CREATE OR REPLACE VIEW ${view} AS ${await viewSql(session, viewed)}`,
    `COMMENT ON VIEW ${view} IS ${literal(viewed.table.doc)}`,
    ...comments,
  ];
  await session.run(statements.join(";\n"));
}

async function viewSql(session: Session, viewed: ViewedTable): Promise<string> {
  const { branches } = viewed;
  if (branches === undefined) return parquetRelation(session, viewed);
  const parts: string[] = [];
  for (const { urls, where } of branches) {
    const rows = await parquetRelation(session, { ...viewed, urls });
    parts.push(where === undefined ? rows : `${rows} WHERE ${where}`);
  }
  return parts.join("\nUNION ALL\n");
}

function readViewFiles(folder: string): ViewFile[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => ({ path: join(folder, name), sql: readFileSync(join(folder, name), "utf8") }));
}

/** Applies files in the order that their views need one another: a file that needs a later one waits for it. */
async function applyViewFiles(session: Session, files: readonly ViewFile[]): Promise<void> {
  let waiting = files;
  while (waiting.length > 0) {
    const failed: { file: ViewFile; error: unknown }[] = [];
    for (const file of waiting) {
      try {
        await session.run(file.sql);
      } catch (error) {
        failed.push({ file, error });
      }
    }
    const [first] = failed;
    if (first !== undefined && failed.length === waiting.length) {
      throw new BarlakeError(`view file ${basename(first.file.path)}: ${messageOf(first.error)}`, {
        cause: first.error instanceof QueryError ? first.error.cause : first.error,
      });
    }
    waiting = failed.map(({ file }) => file);
  }
}
