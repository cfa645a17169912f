import { existsSync, readFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

let reported = false;

/**
 * The folder with DuckDB's extension httpfs, of the version that is used: BARLAKE_DUCKDB_EXTENSIONS, else in the cache of
 * barlake. Says so once where there is none.
 */
export function findHttpfs(): string | undefined {
  const named = process.env.BARLAKE_DUCKDB_EXTENSIONS;
  const { dependencies } = JSON.parse(
    readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
  ) as { dependencies: Record<string, string> };
  const version = dependencies["@duckdb/node-api"]?.split("-")[0];
  const cache = process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache");
  const folder = named ?? join(cache, "barlake", `duckdb-${version}`);
  if (existsSync(join(folder, "httpfs.duckdb_extension"))) return folder;
  if (!reported)
    console.warn("no httpfs of DuckDB here: tests of lakes on a store are skipped (.ci/httpfs gets it)");
  reported = true;
  return undefined;
}
