import { existsSync } from "node:fs";
import { join } from "node:path";
import { version } from "../../arrow/duckdb-api.js";
import { cacheFolder } from "../../core/cache-folder.js";

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
  const folder = join(cacheFolder(environment), `duckdb-${version().replace(/^v/, "")}`);
  return existsSync(join(folder, HTTPFS_FILE)) ? folder : undefined;
}
