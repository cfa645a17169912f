import { CONFIG_FIELDS, CONFIG_FILE, type ConfigField, ENV_FILE, SECRETS, type Setting } from "./settings.js";

/** What gives a value. */
export type SettingSource = "environment" | typeof ENV_FILE | typeof CONFIG_FILE | "default";

/** A setting, its value, and what gives it. */
export interface ResolvedSetting extends Setting {
  readonly field: ConfigField | undefined;
  readonly isSecret: boolean;
  /** Undefined where nothing gives one. */
  readonly value: string | undefined;
  readonly source: SettingSource | undefined;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** What {@link resolveSettings} finds. */
export interface ResolvedSettings {
  readonly settings: readonly ResolvedSetting[];
  /** The variables that the files add to the environment. */
  readonly added: ReadonlyMap<string, string>;
}

/**
 * The names that are taken from `.env`. Others could change how Node itself works (`NODE_TLS_REJECT_UNAUTHORIZED`) or
 * where the user's own files are (`XDG_CONFIG_HOME`).
 */
const TAKEN = /^(BARLAKE|AWS)_/;
/** Where the files of the AWS tools are: they may name a program that gives credentials (`credential_process`). */
const NOT_TAKEN = new Set(["AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"]);

/**
 * Decides where each setting comes from: the environment takes precedence over `.env`, then come the config file and
 * the default. Options take precedence over all of them; the command line compares them with the environment that results.
 */
export function resolveSettings(
  environment: Variables,
  dotenv: Variables,
  config: ReadonlyMap<ConfigField, string>,
): ResolvedSettings {
  const added = new Map<string, string>();
  for (const [name, value] of Object.entries(dotenv)) {
    if (!TAKEN.test(name) || NOT_TAKEN.has(name)) continue;
    if (value !== undefined && environment[name] === undefined) added.set(name, value);
  }
  const inEnvFile = new Set(added.keys());
  for (const [field, value] of config) {
    const { variable } = CONFIG_FIELDS[field];
    if (environment[variable] === undefined && !added.has(variable)) added.set(variable, value);
  }
  const resolve = (setting: Setting, field: ConfigField | undefined): ResolvedSetting => {
    const { variable, fallback } = setting;
    const value = environment[variable] ?? added.get(variable) ?? fallback;
    const source: SettingSource | undefined =
      environment[variable] !== undefined
        ? "environment"
        : inEnvFile.has(variable)
          ? ENV_FILE
          : added.has(variable)
            ? CONFIG_FILE
            : fallback === undefined
              ? undefined
              : "default";
    return { ...setting, field, isSecret: field === undefined, value, source };
  };
  const fields = Object.entries(CONFIG_FIELDS) as [ConfigField, Setting][];
  return {
    settings: [
      ...fields.map(([field, setting]) => resolve(setting, field)),
      ...SECRETS.map((one) => resolve(one, undefined)),
    ],
    added,
  };
}
