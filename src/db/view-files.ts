import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { BarlakeError, messageOf, QueryError } from "../core/errors.js";

/** The views and macros that come with barlake, one a file. */
export const OWN_VIEWS = fileURLToPath(new URL("../../sql/views", import.meta.url));

/** One SQL file that defines a view or a macro. */
export interface ViewFile {
  readonly path: string;
  readonly sql: string;
}

/** A file of a view that could not be applied. */
export class ViewFileError extends BarlakeError {
  readonly path: string;
  /** Line of the file that the error is about, from 1. */
  readonly line: number;

  constructor(file: ViewFile, cause: unknown) {
    const told = messageOf(cause);
    const line = lineOf(file.sql, told);
    // The engine's own words, without its drawing of the line.
    const what = told.split(/\n+LINE \d+:/)[0]?.replaceAll(/\s*\n\s*/g, " ");
    super(`view file ${file.path}:${line}: ${what}`, {
      hint: "correct the file, then run any command that lands, or barlake sql",
      cause: cause instanceof QueryError ? cause.cause : cause,
    });
    this.path = file.path;
    this.line = line;
  }
}

/** The `*.sql` files of a folder, in the order of their names; none where there is no such folder. */
export function readViewFiles(folder: string): ViewFile[] {
  return namesIn(folder)
    .filter((name) => name.endsWith(".sql"))
    .sort()
    .map((name) => ({ path: join(folder, name), sql: readFileSync(join(folder, name), "utf8") }));
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/**
 * Applies files in the order that they need one another, as far as their texts tell; one that fails is tried again
 * once others have been applied.
 *
 * @param apply runs a file's statements.
 * @returns an error for each file that could not be applied; the first is not about another file's name.
 */
export async function applyViewFiles(
  files: readonly ViewFile[],
  apply: (sql: string) => Promise<unknown>,
): Promise<readonly ViewFileError[]> {
  let waiting = inOrderOfNeed(files);
  while (waiting.length > 0) {
    const failed: { file: ViewFile; error: ViewFileError }[] = [];
    for (const file of waiting) {
      try {
        await apply(file.sql);
      } catch (error) {
        failed.push({ file, error: new ViewFileError(file, error) });
      }
    }
    if (failed.length === waiting.length) return rootsFirst(failed.map(({ error }) => error));
    waiting = failed.map(({ file }) => file);
  }
  return [];
}

/** Files whose names a file mentions, outside of comments, go before it: to bind a view in vain costs as much as to lay it. */
function inOrderOfNeed(files: readonly ViewFile[]): readonly ViewFile[] {
  return inOrder(files, files);
}

/** The files that define what a statement mentions, and what these need: a file comes after those that it mentions. */
export function filesNeededBy(sql: string, files: readonly ViewFile[]): readonly ViewFile[] {
  const words = wordsOf(sql);
  return inOrder(
    files,
    files.filter(({ path }) => words.has(nameOf(path))),
  );
}

/** The names that a statement mentions outside of comments, and other words of it. */
export function wordsOf(sql: string): ReadonlySet<string> {
  return new Set(sql.replaceAll(/--.*|COMMENT ON [^;]*;/g, "").match(/\w+/g));
}

/** Some files and those that they need; a file comes after those that it mentions. */
function inOrder(files: readonly ViewFile[], some: readonly ViewFile[]): readonly ViewFile[] {
  const byName = new Map(files.map((file) => [nameOf(file.path), file]));
  const ordered = new Set<ViewFile>();
  const begun = new Set<ViewFile>();
  const add = (file: ViewFile): void => {
    if (begun.has(file)) return;
    begun.add(file);
    for (const word of wordsOf(file.sql)) {
      const needed = byName.get(word);
      if (needed !== undefined) add(needed);
    }
    ordered.add(file);
  };
  for (const file of some) add(file);
  return [...ordered];
}

function nameOf(path: string): string {
  return basename(path, ".sql");
}

/** Errors about what no failed file would have defined go before those that follow from them. */
function rootsFirst(errors: readonly ViewFileError[]): ViewFileError[] {
  const names = errors.map(({ path }) => nameOf(path));
  const follows = (error: ViewFileError): number =>
    Number(names.some((name) => new RegExp(`with name "?${name}"? does not exist`, "i").test(error.message)));
  return [...errors].sort((a, b) => follows(a) - follows(b));
}

/** The line that the engine names, else the first one that has the missing name outside of a comment. */
function lineOf(sql: string, message: string): number {
  const told = /\nLINE (\d+):/.exec(message)?.[1];
  if (told !== undefined) return Number(told);
  const name = /(?:with name|column(?: with name)?) "?([\w.]+)"?/.exec(message)?.[1];
  if (name === undefined) return 1;
  const word = new RegExp(`(^|\\W)${name.replaceAll(".", "\\.")}(\\W|$)`, "i");
  const at = sql.split("\n").findIndex((line) => word.test(line.replace(/--.*/, "")));
  return Math.max(at, 0) + 1;
}
