import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { BarlakeError, messageOf, QueryError } from "../../core/errors.js";
import { compareText } from "../../core/text-order.js";

/** The folder of the views and macros that come with barlake, one in each file, in a folder for each subject. */
export const OWN_VIEWS = fileURLToPath(new URL("../../../sql/views", import.meta.url));

export interface ViewFile {
  readonly path: string;
  readonly sql: string;
}

export class ViewFileError extends BarlakeError {
  readonly path: string;
  /** Line of the file that the error is about, from 1. */
  readonly line: number;

  constructor(file: ViewFile, cause: unknown) {
    const message = messageOf(cause);
    const line = lineOf(file.sql, message);
    // DuckDB's message without its excerpt of the line.
    const what = message.split(/\n+LINE \d+:/)[0]?.replaceAll(/\s*\n\s*/g, " ");
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
  return viewFiles(folder, namesIn(folder));
}

/** The `*.sql` files of a folder and of the folders in it, in the order of their names, in all folders. */
export function readViewTree(folder: string): ViewFile[] {
  return viewFiles(folder, readdirSync(folder, { recursive: true, encoding: "utf8" }));
}

let own: readonly ViewFile[] | undefined;

/** The views and macros that come with barlake. They are a part of the program, so a process reads them once. */
export function ownViewFiles(): readonly ViewFile[] {
  own ??= readViewTree(OWN_VIEWS);
  return own;
}

function viewFiles(folder: string, paths: readonly string[]): ViewFile[] {
  return paths
    .filter((path) => path.endsWith(".sql"))
    .map((path) => ({ name: basename(path), path: join(folder, path) }))
    .sort((a, b) => compareText(a.name, b.name))
    .map(({ path }) => ({ path, sql: readFileSync(path, "utf8") }));
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
 * Applies files in the order of their dependencies, as far as these can be read from the texts. A file that fails is
 * tried again after others have been applied. @returns an error for each that could not be applied; the first is not
 * about another file's name.
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

/** Puts files before those that mention their names: a failed attempt to bind a view costs as much as to create it. */
export function inOrderOfNeed(files: readonly ViewFile[]): readonly ViewFile[] {
  return inOrder(files, files);
}

/** The files that define what a statement mentions, and what these need, each after those it mentions. */
export function filesNeededBy(sql: string, files: readonly ViewFile[]): readonly ViewFile[] {
  const words = wordsOf(sql);
  return inOrder(
    files,
    files.filter(({ path }) => words.has(nameOf(path))),
  );
}

/** All words of a statement outside of comments: the names that it mentions are among them. */
export function wordsOf(sql: string): ReadonlySet<string> {
  return new Set(sql.replaceAll(/--.*|COMMENT ON [^;]*;/g, "").match(/\w+/g));
}

/** The given files and the files that they need. A file comes after those it mentions. */
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

/** Puts errors that only follow from another failed file after all others. */
function rootsFirst(errors: readonly ViewFileError[]): ViewFileError[] {
  const names = errors.map(({ path }) => nameOf(path));
  const follows = (error: ViewFileError): number =>
    Number(names.some((name) => new RegExp(`with name "?${name}"? does not exist`, "i").test(error.message)));
  return [...errors].sort((a, b) => follows(a) - follows(b));
}

/** The line that DuckDB names, else the first line that has the missing name outside of a comment. */
function lineOf(sql: string, message: string): number {
  const stated = /\nLINE (\d+):/.exec(message)?.[1];
  if (stated !== undefined) return Number(stated);
  const name = /(?:with name|column(?: with name)?) "?([\w.]+)"?/.exec(message)?.[1];
  if (name === undefined) return 1;
  const word = new RegExp(`(^|\\W)${name.replaceAll(".", "\\.")}(\\W|$)`, "i");
  const at = sql.split("\n").findIndex((line) => word.test(line.replace(/--.*/, "")));
  return Math.max(at, 0) + 1;
}
