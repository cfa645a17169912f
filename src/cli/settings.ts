/** The JSON schemas of files that users write: their names in `dist/json-schema`. */
export const SCHEMA_FILES = { config: "config.json", dataset: "dataset.json" } as const;

export const CONFIG_FILE = "barlake.config.json";
/** The file with a project's variables, in the working directory. */
export const ENV_FILE = ".env";

/** A value that an option, the environment, `.env` or the config file may give, in this order. */
export interface Setting {
  readonly variable: string;
  readonly does: string;
  /** The option that takes precedence over the environment, where there is one. */
  readonly option?: string;
  /** The value where nothing gives one; undefined: there is none. */
  readonly fallback?: string;
}

/** The settings of {@link CONFIG_FILE}, by field. */
export const CONFIG_FIELDS = {
  lake: {
    variable: "BARLAKE_LAKE",
    option: "--lake",
    fallback: "data",
    does: "folder of the lake, or s3://bucket/prefix",
  },
  url: { variable: "BARLAKE_URL", option: "--url", does: "address of the service that runs ask" },
  share: {
    variable: "BARLAKE_SHARE",
    option: "--share",
    fallback: "1",
    does: "largest part of the key's quota to use, above 0, up to 1; a pipeline's own goes before it",
  },
  port: { variable: "BARLAKE_PORT", option: "serve --port", fallback: "8080", does: "port of serve" },
  pipelines: {
    variable: "BARLAKE_PIPELINES",
    fallback: "pipelines",
    does: "folder of your pipelines",
  },
  notebooks: {
    variable: "BARLAKE_NOTEBOOKS",
    fallback: "notebooks",
    does: "folder in which sql -f NAME finds NAME.sql, and ui lists notebooks",
  },
  views: { variable: "BARLAKE_VIEWS", fallback: "sql/views", does: "folder of your views" },
  trino: { variable: "BARLAKE_TRINO", option: "--server", does: "address of a Trino" },
} as const satisfies Readonly<Record<string, Setting>>;

export type ConfigField = keyof typeof CONFIG_FIELDS;

/** Variables with secrets: no option or config file gives them, and none is shown. */
const SECRETS: readonly Setting[] = [
  { variable: "BARLAKE_API_KEY", does: "key of the service that runs ask" },
  { variable: "BARLAKE_SERVE_KEYS", does: "keys that serve accepts" },
  { variable: "BARLAKE_WEBHOOK", does: "address that receives reports of failed runs" },
  { variable: "AWS_SECRET_ACCESS_KEY", does: "secret of the object store" },
];

type SettingSource = "environment" | typeof ENV_FILE | typeof CONFIG_FILE | "default";

export interface ResolvedSetting extends Setting {
  readonly field: ConfigField | undefined;
  readonly isSecret: boolean;
  /** Undefined where nothing gives one. */
  readonly value: string | undefined;
  readonly source: SettingSource | undefined;
}

type Variables = Readonly<Record<string, string | undefined>>;

interface ResolvedSettings {
  readonly settings: readonly ResolvedSetting[];
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
