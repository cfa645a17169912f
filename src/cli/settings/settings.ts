/** The file with a project's settings, in the working directory. */
export const CONFIG_FILE = "barlake.config.json";
/** The file with a project's variables, in the working directory. */
export const ENV_FILE = ".env";

/** A value that an option, the environment, `.env` or the config file may give, in this order. */
export interface Setting {
  readonly variable: string;
  /** What it is, in a few words. */
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
    does: "part of the key's quota to use, above 0, up to 1; a pipeline's own goes before it",
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
export const SECRETS: readonly Setting[] = [
  { variable: "BARLAKE_API_KEY", does: "key of the service that runs ask" },
  { variable: "BARLAKE_SERVE_KEYS", does: "keys that serve accepts" },
  { variable: "BARLAKE_WEBHOOK", does: "address that receives reports of failed runs" },
  { variable: "AWS_SECRET_ACCESS_KEY", does: "secret of the object store" },
];
