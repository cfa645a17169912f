import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import type { Environment } from "../../object-store/access/profile-files.js";

/** The folder for state of this user's programs, neither settings nor data, by the XDG Base Directory Specification. */
export function stateFolder({ XDG_STATE_HOME: home = "" }: Environment): string {
  return join(isAbsolute(home) ? home : join(homedir(), ".local", "state"), "barlake");
}
