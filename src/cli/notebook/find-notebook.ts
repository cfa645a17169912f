import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { UsageError } from "../../core/errors.js";
import { type Language, languageOf } from "../../core/language.js";
import type { Notebook } from "../../notebook/notebook.js";
import { parseNotebook } from "../../notebook/parse/parse-notebook.js";
import { shippedNotebooks } from "../../notebook/shipped-notebooks.js";

export interface FoundNotebook {
  readonly notebook: Notebook;
  readonly text: string;
}

const USERS_NOTEBOOKS = "notebooks";

interface SqlFile {
  readonly path: string;
  readonly text: string;
}

/**
 * Reads the SQL file at a path, otherwise the notebook of that name in the user's folder (BARLAKE_NOTEBOOKS, or
 * `notebooks`), otherwise the shipped one.
 *
 * @throws {UsageError} if none of them exists.
 */
export async function findSqlFile(name: string): Promise<SqlFile> {
  const base = name.replace(/\.sql$/, "");
  const shipped = shippedNotebooks();
  const users = usersNotebooks();
  const named = shipped.find((one) => one.name === base)?.path;
  for (const path of [name, join(users, `${base}.sql`), ...(named === undefined ? [] : [named])]) {
    const text = await readIfThere(path);
    if (text !== undefined) return { path, text };
  }
  throw new UsageError(`file ${name} does not exist, nor a notebook of that name in ${users}`, {
    hint: `shipped notebooks: ${shipped.map((one) => one.name).join(", ")}`,
  });
}

/** Reads the notebook that {@link findSqlFile} finds. @throws {UsageError} also if a directive is wrong. */
export async function findNotebook(name: string): Promise<FoundNotebook> {
  const { path, text } = await findSqlFile(name);
  return { notebook: parseNotebook(text, path, terminalLanguage()), text };
}

/** The folder in which a notebook's name is looked up. */
export function usersNotebooks(): string {
  return process.env.BARLAKE_NOTEBOOKS || USERS_NOTEBOOKS;
}

function terminalLanguage(): Language {
  const { LC_ALL, LC_MESSAGES, LANG } = process.env;
  return languageOf(LC_ALL || LC_MESSAGES || LANG);
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A folder may have the name of a shipped notebook.
    if (code === "ENOENT" || code === "EISDIR" || code === "ENOTDIR") return undefined;
    throw new UsageError(`file ${path} cannot be read: ${code ?? "no reason given"}`, { cause: error });
  }
}
