import { QueryError } from "../../core/errors.js";
import { errorText } from "../errors/error-text.js";
import { paint } from "../text/text.js";
import { History } from "./history.js";
import { runInteractive } from "./interactive-shell.js";
import { runPiped } from "./piped-shell.js";
import { runFile } from "./run-entry.js";
import { ShellSession, type ShellSettings } from "./shell-session.js";
import type { SqlPlace } from "./sql-place.js";
import { type StartupFile, startupFile } from "./startup-file.js";

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
