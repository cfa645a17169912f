import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { messageOf, UsageError } from "../core/errors.js";
import {
  CONFIG_FILE,
  type ConfigField,
  ENV_FILE,
  type ResolvedSetting,
  resolveSettings,
} from "./settings.js";

/** Names of config files in languages that are not read. */
const UNREAD = ["ts", "mts", "js", "mjs", "cjs"].map((ending) => CONFIG_FILE.replace(/json$/, ending));

interface LoadedSettings {
  readonly settings: readonly ResolvedSetting[];
  readonly fault: unknown;
}

/**
 * Reads `.env` and the config file of the working directory, and adds what they give to this process's environment,
 * where every option and every part of the command line reads it.
 */
export async function loadSettings(): Promise<LoadedSettings> {
  try {
    const { settings, added } = resolveSettings({ ...process.env }, readEnvFile(), await readConfigFile());
    for (const [name, value] of added) process.env[name] = value;
    return { settings, fault: undefined };
  } catch (fault) {
    return { settings: [], fault };
  }
}

const KEY = "BARLAKE_API_KEY";

/**
 * Takes the key that `.env` has now, so that a process that runs for weeks uses another one. A key of the environment takes
 * precedence, and where the file has none the last one remains.
 *
 * @param settings as they were when the process began.
 */
export function reloadKey(settings: readonly ResolvedSetting[]): void {
  if (settings.some(({ variable, source }) => variable === KEY && source === "environment")) return;
  const key = readEnvFile()[KEY];
  if (key) process.env[KEY] = key;
}

function readEnvFile(): Readonly<Record<string, string | undefined>> {
  return parseEnv(readIfThere(ENV_FILE) ?? "");
}

/** A config is data, because every command reads it, also the completion of a word, and none should run code for that. */
async function readConfigFile(): Promise<ReadonlyMap<ConfigField, string>> {
  const unread = UNREAD.find((file) => existsSync(file));
  if (unread !== undefined)
    throw new UsageError(`${unread}: settings are not read from a program`, {
      hint: `write them as JSON into ${CONFIG_FILE}; barlake init makes one`,
    });
  const text = readIfThere(CONFIG_FILE);
  return text === undefined ? new Map() : read(text);
}

/** The rules are loaded only where there is a file, for a quick start. */
async function read(text: string): Promise<ReadonlyMap<ConfigField, string>> {
  const { readConfig } = await import("./config-file.js");
  return readConfig(text);
}

/** The text of a file; undefined where there is none. A folder may have its name: that of a Python environment, `.env`. */
function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "EISDIR") return undefined;
    throw new UsageError(`file ${file} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}
