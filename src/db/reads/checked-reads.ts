import type { DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { type FileRead, FileReads } from "./file-reads.js";
import { mayChange, undoUnless } from "./undo-changes.js";
import { removeWritten } from "./written-files.js";

const ATTACHING = /\b(?:attach|detach)\b/i;

/** Checks files that statements have read. If it throws, the last statement that read them fails with that error. */
export type ReadCheck = (reads: readonly FileRead[]) => Promise<void>;

/**
 * The check of the files that a connection's statements read. What a statement leaves behind is undone where the check
 * fails, for every kind of statement. It is a class because it owns the log of the reads.
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
