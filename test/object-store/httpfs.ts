import { existsSync } from "node:fs";
import { join } from "node:path";
import { HTTPFS_FILE, httpfsFolder } from "../../src/db/session/store-access.js";

let reported = false;

/** The folder with DuckDB's extension httpfs. Says so once where there is none. */
export function findHttpfs(): string | undefined {
  const folder = httpfsFolder(process.env);
  if (folder !== undefined && existsSync(join(folder, HTTPFS_FILE))) return folder;
  if (!reported)
    console.warn("no httpfs of DuckDB here: tests of lakes on a store are skipped (.ci/httpfs gets it)");
  reported = true;
  return undefined;
}
