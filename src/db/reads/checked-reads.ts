import { lstatSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { type FileRead, FileReads } from "./file-reads.js";
import { mayChange, undoUnless } from "./undo-changes.js";

const ATTACHING = /\b(?:attach|detach)\b/i;

/** Checks files that statements have read. If it throws, the last statement that read them fails with that error. */
export type ReadCheck = (reads: readonly FileRead[]) => Promise<void>;

/**
 * The check of the files that a connection's statements read. What a statement leaves behind is undone where the
 * check fails, for every kind of statement.
 */
export class CheckedReads {
  readonly #connection: DuckDBConnection;
  readonly #files: FileReads;
  readonly #check: ReadCheck;
  readonly #spillFolder: string;

  private constructor(connection: DuckDBConnection, files: FileReads, check: ReadCheck, spillFolder: string) {
    this.#connection = connection;
    this.#files = files;
    this.#check = check;
    this.#spillFolder = spillFolder;
  }

  /** @param spillFolder where the database spills. */
  static async open(
    instance: DuckDBInstance,
    connection: DuckDBConnection,
    check: ReadCheck,
    spillFolder: string,
  ): Promise<CheckedReads> {
    return new CheckedReads(connection, await FileReads.open(instance), check, spillFolder);
  }

  /** Checks the files that were read since the last call. */
  async check(): Promise<void> {
    const { reads } = await this.#files.take();
    await this.#check(reads);
  }

  /**
   * Runs a statement. Where it may change something, and the check fails, its changes are undone, and the files that it
   * has written are removed.
   *
   * @param change runs a statement that may change something to its end: its result outlives its transaction.
   */
  async run<T>(sql: string, query: () => Promise<T>, change: () => Promise<T>): Promise<T> {
    if (!(await mayChange(this.#connection, sql))) return query();
    // An earlier statement that failed was not checked: what it wrote may be a file of the user.
    await this.check();
    return undoUnless(this.#connection, sql, change, async () => {
      const { reads, written } = await this.#files.take();
      try {
        await this.#check(reads);
      } catch (error) {
        // A database that the statement attached or detached is not in the list of databases.
        if (!ATTACHING.test(sql)) await removeWritten(this.#connection, written, this.#spillFolder);
        throw error;
      }
    });
  }

  close(): void {
    this.#files.close();
  }
}

/** DuckDB writes a file that replaces another one under this prefix first, and then renames it. */
const STAGED = "tmp_";

/**
 * Removes the files of this machine that a statement has written with COPY. Databases, and what they spill, remain.
 *
 * @param written paths, as DuckDB has logged them.
 */
async function removeWritten(
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
