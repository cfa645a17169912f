import { existsSync } from "node:fs";
import { join } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";
import { version } from "../../arrow/duckdb-api.js";
import { BarlakeError, messageOf } from "../../core/errors.js";
import { userFolder } from "../../core/user-folder.js";
import { literal } from "../quote.js";

/** The file of DuckDB's extension that reads from object stores. */
export const HTTPFS_FILE = "httpfs.duckdb_extension";

/**
 * The folder with DuckDB's extension httpfs: what `BARLAKE_DUCKDB_EXTENSIONS` names, whether or not the file is there;
 * else `duckdb-VERSION` in the cache folder of barlake, of the version of DuckDB that runs. Undefined where neither
 * is: then DuckDB installs the extension itself, from its repository.
 */
export function httpfsFolder(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const { BARLAKE_DUCKDB_EXTENSIONS: named } = environment;
  if (named) return named;
  const folder = join(userFolder("cache", environment), `duckdb-${version().replace(/^v/, "")}`);
  return existsSync(join(folder, HTTPFS_FILE)) ? folder : undefined;
}

/** How DuckDB signs its requests to an object store. */
export interface StoreSecret {
  /** Undefined for a store that is read without credentials. */
  readonly keyId: string | undefined;
  readonly key: string | undefined;
  readonly sessionToken: string | undefined;
  readonly region: string;
  /** Host of the store, with its port, without a scheme. */
  readonly endpoint: string;
  /** Whether the bucket is part of the path, and not of the host. */
  readonly isPathStyle: boolean;
  readonly isTls: boolean;
}

/** How often a failed request to a store is repeated, and how long one may take. */
export interface StorePatience {
  /** How many times a failed request is sent again; DuckDB repeats one at most 3 times. @default 8 */
  readonly retries?: number | undefined;
  /**
   * Longest wait for a connection, for a response, and between two pieces of its body, in milliseconds. For a request of
   * DuckDB it is the longest time of the whole request, in whole seconds. @default 30000
   */
  readonly timeoutMs?: number | undefined;
}

/** What a session needs to read the files of a lake in an object store. */
export interface StoreAccess {
  /** The URL that all files begin with. The secret is used for these only. */
  readonly scope: string;
  /** Folder of `httpfs.duckdb_extension`. @default the one that DuckDB installs */
  readonly extensions: string | undefined;
  readonly patience?: StorePatience | undefined;
  /** The current secret. It is the same object for as long as it can be used. */
  secret(): Promise<StoreSecret>;
}

/**
 * Files of a lake never change, so what was read of them is valid for as long as it is cached: their ranges (bounded by
 * the memory of the database), footers and sizes. Connections are used again for other files: each costs a handshake.
 */
const CACHES = [
  "enable_external_file_cache = true",
  "validate_external_file_cache = 'NO_VALIDATION'",
  "enable_http_metadata_cache = true",
  "parquet_metadata_cache = true",
  "httpfs_connection_caching = true",
];

/** Most repetitions of a request of DuckDB, which waits 0.1, 0.4 and 1.6 seconds before them. */
const MOST_RETRIES = 3;
const TIMEOUT_MS = 30_000;

/** Settings that end a read from a store that does not respond: an interrupt takes effect only between two requests. */
function limitsOf({
  patience: { retries = MOST_RETRIES, timeoutMs = TIMEOUT_MS } = {},
}: StoreAccess): string[] {
  return [
    `http_timeout = ${Math.max(1, Math.ceil(timeoutMs / 1000))}`,
    `http_retries = ${Math.min(MOST_RETRIES, retries)}`,
  ];
}

/** The access of a database to an object store. It owns a connection, which sets the secret of the whole database. */
export class OpenStore {
  readonly #connection: DuckDBConnection;
  readonly #access: StoreAccess;
  readonly #name: string;
  #known: StoreSecret | undefined;

  private constructor(connection: DuckDBConnection, access: StoreAccess, name: string) {
    this.#connection = connection;
    this.#access = access;
    this.#name = name;
  }

  /**
   * Loads what DuckDB needs to read from a store, and sets the secret. Where that fails, the connection is closed.
   *
   * @param name of the secret in the database.
   * @throws {BarlakeError} where the extension cannot be loaded.
   */
  static async open(connection: DuckDBConnection, access: StoreAccess, name: string): Promise<OpenStore> {
    const store = new OpenStore(connection, access, name);
    try {
      await loadHttpfs(connection, access.extensions);
      for (const setting of [...CACHES, ...limitsOf(access)]) await connection.run(`SET GLOBAL ${setting}`);
      await store.refresh();
      return store;
    } catch (error) {
      store.close();
      throw error;
    }
  }

  /**
   * Sets the secret again where it was replaced by a newer one. The secret is in memory only: a database file does not
   * contain it.
   */
  async refresh(): Promise<void> {
    const secret = await this.#access.secret();
    if (secret === this.#known) return;
    await this.#connection.run(secretSql(this.#name, this.#access.scope, secret)).catch((error: unknown) => {
      // The statement has the key: neither it nor an error that may quote it is passed on.
      throw new BarlakeError(`DuckDB did not accept the credentials of ${this.#access.scope}`, {
        hint: /^[A-Z][\w ]* Error/.exec(messageOf(error))?.[0],
      });
    });
    this.#known = secret;
  }

  close(): void {
    this.#connection.closeSync();
  }
}

function secretSql(name: string, scope: string, secret: StoreSecret): string {
  const { keyId, key: signingKey, sessionToken, region, endpoint, isPathStyle, isTls } = secret;
  const values = {
    SCOPE: scope,
    REGION: region,
    ENDPOINT: endpoint,
    URL_STYLE: isPathStyle ? "path" : "vhost",
    ...(keyId !== undefined && { KEY_ID: keyId }),
    ...(signingKey !== undefined && { SECRET: signingKey }),
    ...(sessionToken !== undefined && { SESSION_TOKEN: sessionToken }),
  };
  const parameters = Object.entries(values).map(([key, value]) => `${key} ${literal(value)}`);
  return `CREATE OR REPLACE TEMPORARY SECRET ${name} (TYPE s3, PROVIDER config, ${parameters.join(", ")}, USE_SSL ${isTls})`;
}

/**
 * Loads the extension that reads from object stores. The npm package of DuckDB does not have it. It must be of exactly
 * the version of DuckDB: `@duckdb/node-api` is pinned at 1.5.5, the newest for which a signed file is also distributed
 * as a package (`duckdb-extension-httpfs` for Python), for machines that do not reach DuckDB's repository.
 */
async function loadHttpfs(connection: DuckDBConnection, folder: string | undefined): Promise<void> {
  if (folder !== undefined) {
    const file = join(folder, HTTPFS_FILE);
    if (!existsSync(file))
      throw new BarlakeError(`BARLAKE_DUCKDB_EXTENSIONS: there is no ${file}`, {
        hint: `put the file of ${await versionOf(connection)} there, or unset the variable: then DuckDB installs it itself`,
      });
    await connection.run(`LOAD ${literal(file)}`).catch(async (cause: unknown) => {
      throw new BarlakeError(`${file} cannot be loaded: ${firstLine(cause)}`, {
        hint: `the file must be of ${await versionOf(connection)} and of this platform`,
        cause,
      });
    });
    return;
  }
  try {
    await connection.run("LOAD httpfs");
  } catch {
    await connection.run("INSTALL httpfs; LOAD httpfs").catch(async (cause: unknown) => {
      throw new BarlakeError(
        `DuckDB needs its extension httpfs to read from an object store, and could not install it: ${firstLine(cause)}`,
        {
          hint: `give this machine access to extensions.duckdb.org, or put ${HTTPFS_FILE} of ${await versionOf(connection)} into a folder and set BARLAKE_DUCKDB_EXTENSIONS to it (.ci/httpfs of the sources gets it)`,
          cause,
        },
      );
    });
  }
}

async function versionOf(connection: DuckDBConnection): Promise<string> {
  const result = await connection.run("SELECT library_version FROM pragma_version()");
  const [row] = await result.getRows();
  return `DuckDB ${String(row?.[0])}`;
}

function firstLine(error: unknown): string {
  return messageOf(error).split("\n")[0] ?? "";
}
