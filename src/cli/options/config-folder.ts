import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

/** The folder of the user's settings, by the XDG Base Directory Specification. */
export function configFolder(): string {
  const { XDG_CONFIG_HOME: home = "" } = process.env;
  return join(isAbsolute(home) ? home : join(homedir(), ".config"), "barlake");
}
