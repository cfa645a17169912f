import { existsSync } from "node:fs";
import { join } from "node:path";
import { configFolder } from "../options/config-folder.js";

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
export function startupFile(
  named: string | false | undefined,
  isInteractive: boolean,
): StartupFile | undefined {
  if (named === false) return undefined;
  if (named !== undefined) return { path: named, isNamed: true };
  const path = join(configFolder(), "shell.sql");
  return isInteractive && existsSync(path) ? { path, isNamed: false } : undefined;
}
