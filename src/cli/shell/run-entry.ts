import { readFile } from "node:fs/promises";
import { messageOf, QueryError, UsageError } from "../../core/errors.js";
import { splitStatements } from "../../db/sql-tokens.js";
import { StatementError } from "../error-text.js";
import { runCommand } from "./dot-commands.js";
import type { ShellSession } from "./shell-session.js";

/** What users of other shells type to leave: no statement begins so. */
const LEAVING = /^\s*(exit|quit)\s*;?\s*$/i;

/** One input: a statement, or a command: it begins with a dot, or leaves. */
export interface Entry {
  readonly kind: "statement" | "command";
  readonly text: string;
  /** Number of its first line among all lines, from 1. */
  readonly line: number;
  /** The text as typed, with leading blanks. */
  readonly written: string;
}

export class EntryReader {
  #pending = "";
  #line = 0;
  /** Line at which the pending statement begins. */
  #start = 1;

  /** The text of an incomplete statement; "" between statements. */
  get pending(): string {
    return this.#pending;
  }

  /** Adds a line. @returns the entries that it completes. */
  take(line: string): Entry[] {
    this.#line++;
    if (this.#pending === "") this.#start = this.#line;
    if (this.#pending === "" && (line.trimStart().startsWith(".") || LEAVING.test(line)))
      return [{ kind: "command", text: line.trim(), line: this.#line, written: line }];
    const written = `${this.#pending}${line}\n`;
    const { statements, rest } = splitStatements(written);
    const start = this.#start;
    this.#pending = rest === undefined ? "" : statements.length === 0 ? written : `${rest.sql}\n`;
    if (rest !== undefined) this.#start = start + (statements.length === 0 ? 0 : rest.line - 1);
    return statements.map(({ sql, line: at }, index) => ({
      kind: "statement",
      text: sql,
      line: start + at - 1,
      written: index === 0 && /^[ \t]/.test(written) ? ` ${sql};` : `${sql};`,
    }));
  }

  /** Takes the pending text as a statement, at the end of all lines, even if a quote is still open. */
  end(): Entry[] {
    const { rest } = splitStatements(this.#pending);
    const line = this.#start + (rest?.line ?? 1) - 1;
    this.clear();
    return rest === undefined ? [] : [{ kind: "statement", text: rest.sql, line, written: rest.sql }];
  }

  clear(): void {
    this.#pending = "";
  }
}

/** Maximum depth to which files may read one another. */
const DEEPEST = 10;

/** Runs an entry. @returns whether the shell continues. @throws {BarlakeError} or {StatementError}. */
export async function runEntry(shell: ShellSession, entry: Entry, depth = 0): Promise<boolean> {
  if (entry.kind === "command")
    return runCommand(shell, entry.text, (file) => runFile(shell, file, depth + 1));
  try {
    await shell.runStatement(entry.text);
    return true;
  } catch (error) {
    throw error instanceof QueryError ? new StatementError(error, entry.line) : error;
  }
}

/** Runs the content of a file until an entry fails. @returns whether the shell continues. */
export async function runFile(shell: ShellSession, file: string, depth = 1): Promise<boolean> {
  if (depth > DEEPEST) throw new UsageError(`file ${file}: files read one another ${DEEPEST} deep`);
  const text = await readFile(file, "utf8").catch((cause: unknown) => {
    throw new UsageError(`file ${file}: cannot be read: ${messageOf(cause)}`, { cause });
  });
  const entries = new EntryReader();
  for (const line of text.split(/\r?\n/))
    for (const entry of entries.take(line)) if (!(await runEntry(shell, entry, depth))) return false;
  for (const entry of entries.end()) if (!(await runEntry(shell, entry, depth))) return false;
  return true;
}
