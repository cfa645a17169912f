import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** The folder for state of this user's programs, neither settings nor data, by the XDG Base Directory Specification. */
export function stateFolder(): string {
  const { XDG_STATE_HOME: home = "" } = process.env;
  return join(isAbsolute(home) ? home : join(homedir(), ".local", "state"), "barlake");
}
