import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";
import { Option } from "commander";

/** `--keys FILE`: the file with the keys of a service, by default in the user's settings folder (XDG). */
export function keysOption(): Option {
  const { XDG_CONFIG_HOME: home = "" } = process.env;
  const folder = join(isAbsolute(home) ? home : join(homedir(), ".config"), "barlake");
  return new Option("--keys <file>", "file of the keys that the service accepts")
    .env("BARLAKE_SERVE_KEYS_FILE")
    .default(join(folder, "serve-keys.json"), "barlake/serve-keys.json in $XDG_CONFIG_HOME or ~/.config");
}
