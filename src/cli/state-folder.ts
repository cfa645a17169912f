import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** Where programs of this user keep what is neither settings nor data, as the XDG Base Directory Specification has it. */
export function stateFolder(): string {
  const { XDG_STATE_HOME: home = "" } = process.env;
  return join(isAbsolute(home) ? home : join(homedir(), ".local", "state"), "barlake");
}
