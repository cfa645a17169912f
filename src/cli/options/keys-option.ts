import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Option } from "commander";

/** `--keys FILE`: where the keys of a service are kept; beside this user's other settings, by the XDG specification. */
export function keysOption(): Option {
  const { XDG_CONFIG_HOME: home = "" } = process.env;
  const folder = join(isAbsolute(home) ? home : join(homedir(), ".config"), "barlake");
  return new Option("--keys <file>", "file of the keys that the service accepts")
    .env("BARLAKE_SERVE_KEYS_FILE")
    .default(join(folder, "serve-keys.json"), "barlake/serve-keys.json in $XDG_CONFIG_HOME or ~/.config");
}
