import { existsSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { QueryError } from "../../core/errors.js";
import { userFolder } from "../../core/user-folder.js";
import { errorText } from "../error-text.js";
import { paint } from "../text.js";
import { History, runInteractive } from "./interactive-shell.js";
import { EntryReader, runEntry, runFile } from "./run-entry.js";
import { ShellSession, type ShellSettings } from "./shell-session.js";
import type { SqlPlace } from "./sql-place.js";

/** Runs the entries of standard input, without prompts, until one fails. @throws {BarlakeError} the failure. */
async function runPiped(shell: ShellSession, signal: AbortSignal): Promise<void> {
  const entries = new EntryReader();
  const lines = createInterface({ input: process.stdin, crlfDelay: Number.POSITIVE_INFINITY, signal });
  try {
    for await (const line of lines)
      for (const entry of entries.take(line)) if (!(await runEntry(shell, entry))) return;
    for (const entry of entries.end()) await runEntry(shell, entry);
  } finally {
    lines.close();
  }
}

/** What a shell runs before its first line. */
export interface StartupFile {
  readonly path: string;
  /** Whether an option named it, so that it must be there and must be without mistakes. */
  readonly isNamed: boolean;
}

/**
 * The startup file of a shell: one that the user names, otherwise `shell.sql` of the user's settings if it is there, and
 * the shell is at a terminal. A file of the working directory is never run by itself: a shell in a folder that came from
 * others would run what they wrote. Piped input is a program, and means the same for every user.
 *
 * @param named the value of `--init FILE`; false: `--no-init`.
 */
function startupFile(named: string | false | undefined, isInteractive: boolean): StartupFile | undefined {
  if (named === false) return undefined;
  if (named !== undefined) return { path: named, isNamed: true };
  const path = join(userFolder("config", process.env), "shell.sql");
  return isInteractive && existsSync(path) ? { path, isNamed: false } : undefined;
}

export interface ShellOptions {
  readonly settings: ShellSettings;
  /** File that stores entries for later sessions. */
  readonly historyFile: string;
  /** The value of `--init FILE`; false: `--no-init`. */
  readonly init: string | false | undefined;
  /** Ends the shell. */
  readonly signal: AbortSignal;
}

/** A shell on standard input; only a terminal gets prompts. @throws {BarlakeError} the first failure of piped input. */
export async function runShell(
  place: SqlPlace,
  { settings, historyFile, init, signal }: ShellOptions,
): Promise<void> {
  const isInteractive = process.stdin.isTTY && process.stdout.isTTY;
  const shell = new ShellSession(place, { settings, isInteractive });
  try {
    const startup = startupFile(init, isInteractive);
    if (startup !== undefined && !(await runStartup(shell, place, startup))) return;
    if (!isInteractive) await runPiped(shell, signal);
    else await runInteractive(shell, place, { history: new History(historyFile), signal });
  } finally {
    await shell.close();
  }
}

/**
 * Runs the startup file. A mistake in a file that was not named by an option is printed, and the shell begins without the rest of the file.
 *
 * @returns whether the shell continues.
 */
async function runStartup(
  shell: ShellSession,
  place: SqlPlace,
  { path, isNamed }: StartupFile,
): Promise<boolean> {
  if (isNamed) return runFile(shell, path);
  shell.say(`runs ${path}; --no-init leaves it out`);
  try {
    return await runFile(shell, path);
  } catch (error) {
    const shown = error instanceof QueryError ? await place.withProposals(error) : error;
    process.stdout.write(`${paint("yellow", `${path} was not run to its end:`)}\n${errorText(shown)}\n`);
    return true;
  }
}
