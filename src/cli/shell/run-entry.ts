import { readFile } from "node:fs/promises";
import { messageOf, QueryError, UsageError } from "../../core/errors.js";
import { StatementError } from "../errors/statement-error.js";
import { runCommand } from "./dot-commands.js";
import { type Entry, EntryReader } from "./entries.js";
import type { ShellSession } from "./shell-session.js";

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
