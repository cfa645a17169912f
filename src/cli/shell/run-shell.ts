import { History } from "./history.js";
import { runInteractive } from "./interactive-shell.js";
import { runPiped } from "./piped-shell.js";
import { ShellSession, type ShellSettings } from "./shell-session.js";
import type { SqlPlace } from "./sql-place.js";

export interface ShellOptions {
  readonly settings: ShellSettings;
  /** File that stores entries for later sessions. */
  readonly historyFile: string;
  /** Ends the shell. */
  readonly signal: AbortSignal;
}

/** A shell on standard input; only a terminal gets prompts. @throws {BarlakeError} the first failure of piped input. */
export async function runShell(
  place: SqlPlace,
  { settings, historyFile, signal }: ShellOptions,
): Promise<void> {
  const isInteractive = process.stdin.isTTY && process.stdout.isTTY;
  const shell = new ShellSession(place, { settings, isInteractive });
  try {
    if (!isInteractive) await runPiped(shell, signal);
    else await runInteractive(shell, place, { history: new History(historyFile), signal });
  } finally {
    await shell.close();
  }
}
