import { lstatSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import type { DuckDBConnection } from "@duckdb/node-api";

/** DuckDB writes a file that replaces another one under this prefix first, and then renames it. */
const STAGED = "tmp_";

/**
 * Removes the files of this machine that a statement has written with COPY. Databases, and what they spill, remain.
 *
 * @param written paths, as DuckDB has logged them.
 */
export async function removeWritten(
  connection: DuckDBConnection,
  written: readonly string[],
  spillFolder: string,
): Promise<void> {
  if (written.length === 0) return;
  const databases = await connection.run("SELECT path FROM duckdb_databases() WHERE path IS NOT NULL");
  const ofDatabases = new Set(
    (await databases.getRows()).flatMap(([path]) => [String(path), `${String(path)}.wal`].map(realPath)),
  );
  const spills = `${realPath(spillFolder) ?? spillFolder}${sep}`;
  for (const path of written) {
    const file = realPath(path) ?? realPath(renamed(path));
    if (file === undefined || ofDatabases.has(file) || file.startsWith(spills)) continue;
    // A device or a pipe is not removed.
    if (lstatSync(file).isFile()) rmSync(file);
  }
}

function renamed(path: string): string {
  const name = basename(path);
  return name.startsWith(STAGED) ? join(dirname(path), name.slice(STAGED.length)) : path;
}

function realPath(path: string): string | undefined {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
}
