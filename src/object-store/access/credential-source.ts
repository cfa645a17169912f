import { readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { messageOf, UsageError } from "../../core/errors.js";

/** Variables of the environment. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings of a profile by name. Settings of a nested section have the name `section.name`. */
type ProfileSettings = ReadonlyMap<string, string>;

/** The relevant content of the shared files of the AWS tools: settings of the chosen profile, and of services. */
interface SharedFiles {
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

/** The secrets that sign requests. No message, file or address contains them. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | undefined;
  /** Epoch milliseconds; undefined where they do not expire, or the time is not known. */
  readonly expiresAt: number | undefined;
}

/**
 * Credentials from the provider chain of the AWS SDK: single sign-on, processes that print credentials, web identity,
 * roles of containers and machines. Undefined where its package, which is optional, is not installed. @throws
 * {UsageError} where the chain finds none.
 */
async function sdkCredentials({ profile, paths }: SharedFiles): Promise<Credentials | undefined> {
  const providers = await import("@aws-sdk/credential-providers").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ERR_MODULE_NOT_FOUND") return undefined;
    throw error;
  });
  if (providers === undefined) return undefined;
  try {
    const [filepath, configFilepath] = paths;
    const find = providers.fromNodeProviderChain({ profile, filepath, configFilepath, ignoreCache: true });
    const { accessKeyId, secretAccessKey, sessionToken, expiration } = await find();
    return { accessKeyId, secretAccessKey, sessionToken, expiresAt: expiration?.getTime() };
  } catch (error) {
    throw new UsageError(`no credentials for the object store in profile "${profile}": ${messageOf(error)}`, {
      hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; aws sts get-caller-identity shows what the AWS tools find",
    });
  }
}

export interface CredentialSource {
  /** @throws {UsageError} where there are none. */
  current(): Promise<Credentials>;
  /** Drops the credentials, so that the next call finds new ones. */
  renew(): void;
}

/** How long before their expiry credentials are renewed, in milliseconds. */
const BEFORE_EXPIRY_MS = 5 * 60_000;

/**
 * Finds credentials as the AWS tools do: in the environment, then in the profile of the shared files, then with the
 * provider chain of the AWS SDK, if that is installed.
 */
export function credentialSource(env: Environment, now: () => number): CredentialSource {
  let found: Promise<Credentials> | undefined;
  const isFresh = ({ expiresAt }: Credentials): boolean =>
    expiresAt === undefined || expiresAt - now() > BEFORE_EXPIRY_MS;
  const find = (): Promise<Credentials> => {
    const finding = findCredentials(env);
    // A failure is not cached.
    finding.catch(() => {
      if (found === finding) found = undefined;
    });
    found = finding;
    return finding;
  };
  return {
    async current() {
      const known = found;
      if (known === undefined) return find();
      const credentials = await known;
      // If several callers see the same expired credentials, only the first one searches for new ones.
      return isFresh(credentials) ? credentials : found === known ? find() : (found ?? find());
    },
    renew() {
      found = undefined;
    },
  };
}

async function findCredentials(env: Environment): Promise<Credentials> {
  const ofEnvironment = pair(env.AWS_ACCESS_KEY_ID, env.AWS_SECRET_ACCESS_KEY, env.AWS_SESSION_TOKEN);
  if (ofEnvironment !== undefined) return ofEnvironment;
  if (env.AWS_ACCESS_KEY_ID || env.AWS_SECRET_ACCESS_KEY)
    throw new UsageError("of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set", {
      hint: "set both, or neither and AWS_PROFILE",
    });
  const files = await readSharedFiles(env);
  const { profile, settings } = files;
  const ofProfile = pair(
    settings.get("aws_access_key_id"),
    settings.get("aws_secret_access_key"),
    settings.get("aws_session_token"),
  );
  if (ofProfile !== undefined) return ofProfile;
  const ofSdk = await sdkCredentials(files);
  if (ofSdk !== undefined) return ofSdk;
  throw new UsageError(
    `no credentials for the object store: neither in the environment nor in profile "${profile}"`,
    {
      hint: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE; for single sign-on or the role of a machine, npm install @aws-sdk/credential-providers next to barlake",
    },
  );
}

function pair(
  accessKeyId: string | undefined,
  secretAccessKey: string | undefined,
  sessionToken: string | undefined,
): Credentials | undefined {
  if (!accessKeyId || !secretAccessKey) return undefined;
  return {
    accessKeyId: accessKeyId.trim(),
    secretAccessKey: secretAccessKey.trim(),
    sessionToken: sessionToken?.trim() || undefined,
    expiresAt: undefined,
  };
}
