import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { BarlakeError, messageOf, QueryError } from "../core/errors.js";
import { type ParquetFiles, parquetRelation } from "./parquet-relation.js";
import { ident, literal } from "./quote.js";
import type { Session } from "./session.js";

/** The views that come with barlake, one a file. */
const OWN_VIEWS = fileURLToPath(new URL("../../sql/views", import.meta.url));

/** One SQL file that defines a view. */
interface ViewFile {
  readonly path: string;
  readonly sql: string;
}

/**
 * Lays a lake's views: `raw.<table>` over exactly the given files, with the comments of the schema, and over these the
 * views of `sql/views`.
 *
 * @param tables the live files of every table.
 * @param extra more views of the schema `raw`, by name.
 * @throws {BarlakeError} when a view's file cannot be applied, naming the file.
 */
export async function createViews(
  session: Session,
  tables: readonly ParquetFiles[],
  extra: Readonly<Record<string, string>> = {},
): Promise<void> {
  await session.run("CREATE SCHEMA IF NOT EXISTS raw");
  for (const files of tables) await createRawView(session, files);
  for (const [name, sql] of Object.entries(extra)) {
    await session.run(`CREATE OR REPLACE VIEW raw.${ident(name)} AS ${sql}`);
  }
  await applyViewFiles(session, readViewFiles(OWN_VIEWS));
}

async function createRawView(session: Session, files: ParquetFiles): Promise<void> {
  const view = `raw.${ident(files.table.name)}`;
  await session.run(`CREATE OR REPLACE VIEW ${view} AS ${await parquetRelation(session, files)}`);
  await session.run(`COMMENT ON VIEW ${view} IS ${literal(files.table.doc)}`);
  for (const { name, doc, unit } of files.columns) {
    const comment = literal(unit ? `${doc} [${unit}]` : doc);
    await session.run(`COMMENT ON COLUMN ${view}.${ident(name)} IS ${comment}`);
  }
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
