import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** The variable that moves each kind of folder, and where the folder is without it. */
const FOLDERS = {
  config: ["XDG_CONFIG_HOME", ".config"],
  state: ["XDG_STATE_HOME", ".local/state"],
  cache: ["XDG_CACHE_HOME", ".cache"],
} as const;

/**
 * A folder of this user's programs, by the XDG Base Directory Specification: for settings, for state (neither settings
 * nor data), or for what can be made again.
 */
export function userFolder(
  kind: keyof typeof FOLDERS,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const [variable, place] = FOLDERS[kind];
  const home = environment[variable] ?? "";
  return join(isAbsolute(home) ? home : join(homedir(), place), "barlake");
}
