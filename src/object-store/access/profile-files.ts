import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { UsageError } from "../../core/errors.js";

/** Variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of a profile by name. Settings of a nested section have the name `section.name`. */
type ProfileSettings = ReadonlyMap<string, string>;

/** The relevant content of the shared files of the AWS tools: settings of the chosen profile, and of services. */
export interface SharedFiles {
  readonly profile: string;
  readonly settings: ProfileSettings;
  /** Settings of the `[services NAME]` section that the profile names. */
  readonly services: ProfileSettings;
  /** Paths of the credentials file and of the config file. */
  readonly paths: readonly [string, string];
}

/**
 * Reads the profile that AWS_PROFILE names (`default` without it). @throws {UsageError} where neither file has it, or a
 * file cannot be read.
 */
export async function readSharedFiles(env: Environment): Promise<SharedFiles> {
  const home = env.HOME || env.USERPROFILE || homedir();
  const profile = env.AWS_PROFILE || env.AWS_DEFAULT_PROFILE || "default";
  const paths = [
    env.AWS_SHARED_CREDENTIALS_FILE || join(home, ".aws", "credentials"),
    env.AWS_CONFIG_FILE || join(home, ".aws", "config"),
  ] as const;
  const [credentials, config] = await Promise.all(paths.map(readSections));
  const found = [
    credentials?.get(profile),
    config?.get(`profile ${profile}`) ?? (profile === "default" ? config?.get("default") : undefined),
  ];
  if (profile !== "default" && found.every((settings) => settings === undefined)) {
    throw new UsageError(`profile "${profile}" is neither in ${paths[0]} nor in ${paths[1]}`, {
      hint: "correct AWS_PROFILE, or add the profile with aws configure",
    });
  }
  const settings = new Map([...(found[1] ?? []), ...(found[0] ?? [])]);
  const services = config?.get(`services ${settings.get("services") ?? ""}`) ?? new Map<string, string>();
  return { profile, settings, services, paths };
}

async function readSections(path: string): Promise<Map<string, Map<string, string>>> {
  try {
    return parseSections(await readFile(path, "utf8"));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return new Map();
    throw new UsageError(`file ${path} of the AWS tools cannot be read: ${code ?? "unknown reason"}`, {
      cause,
    });
  }
}

/**
 * Reads the sections of a file of the AWS tools. An indented line belongs to the setting above it. A line that is not a
 * section, a setting or a comment is left out, as in these tools.
 */
export function parseSections(text: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>();
  let current: Map<string, string> | undefined;
  let outer = "";
  for (const line of text.replace(/^\uFEFF/, "").split(/\r?\n/)) {
    if (/^\s*([#;]|$)/.test(line)) continue;
    const section = /^\[\s*([^\]]*?)\s*\]/.exec(line)?.[1]?.replaceAll(/\s+/g, " ");
    if (section !== undefined) {
      current = sections.get(section) ?? new Map();
      sections.set(section, current);
      outer = "";
      continue;
    }
    const [, indent = "", name, value = ""] = /^(\s*)([^=\s]+)\s*=\s*(.*?)\s*$/.exec(line) ?? [];
    if (name === undefined) continue;
    // A comment begins after white space.
    const plain = value.replace(/\s+[#;].*$/, "");
    if (indent === "") outer = name.toLowerCase();
    current?.set(indent === "" ? outer : `${outer}.${name.toLowerCase()}`, plain);
  }
  return sections;
}
