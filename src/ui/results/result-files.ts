import { randomUUID } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { QueryEngine } from "../../db/query-engine.js";
import { literal } from "../../db/quote.js";
import { makeEmptyDatabase } from "../../db/result/result-copy.js";
import { Session } from "../../db/session/session.js";
import type { ProcessSetting, StoredResult } from "../process/jobs.js";
import type { ResultReport } from "../result-reports.js";
import { RESULT_TABLE, resultFile } from "./result-file.js";

/** Memory of the database through which results are written. */
const MEMORY = "128MB";

/**
 * Stores the results of a run, so that a page can scroll and export them. Each is copied, while it is read, into a new
 * database file, by a database in which no statement of a user runs. It is a class because it owns that database, which
 * ends with the process.
 */
export class ResultFiles {
  readonly #setting: Pick<ProcessSetting, "ownResults" | "spill">;
  readonly #database: Promise<Session>;
  #stored: ResultReport[] = [];

  /** Opens the database, so that the first result need not wait for it. */
  constructor(setting: Pick<ProcessSetting, "ownResults" | "spill">) {
    this.#setting = setting;
    this.#database = this.#open();
    // The first result fails with its error.
    this.#database.catch(() => {});
  }

  /**
   * An engine over a session that stores its results.
   *
   * @param mostBytes of all of these together. A result that exceeds it is not stored, and has no id.
   * @param onStored is called for each stored result.
   */
  async storing(
    session: Session,
    mostBytes: number,
    onStored: (result: StoredResult) => void,
  ): Promise<QueryEngine> {
    const database = await this.#database;
    await database.run(`SET max_temp_directory_size = ${literal(`${mostBytes}B`)}`);
    let free = mostBytes;
    return {
      run: (sql) => session.run(sql),
      read: (sql) => session.read(sql),
      batches: (sql) => session.batches(sql),
      value: (expression, values, text) => session.value(expression, values, text),
      checkReads: () => session.checkReads(),
      interrupt: () => session.interrupt(),
      result: async (sql, values, limit) => {
        const id = randomUUID();
        const file = resultFile(this.#setting.ownResults, id);
        const copy = database.copyInto({
          file,
          empty: this.#empty,
          table: RESULT_TABLE,
          isFull: () => sizeOf(file) > free,
        });
        let isStored = false;
        try {
          const result = await session.result(sql, values, limit, copy);
          await copy.end();
          const { rows } = result;
          const bytes = sizeOf(file);
          isStored = copy.isWhole && rows > 0 && bytes <= free;
          if (rows > 0 && result.columns.length > 0)
            this.#stored.push(isStored ? { id, rows } : { id: null, rows, mostBytes: free });
          if (isStored) {
            free -= bytes;
            onStored({ id, rows, bytes });
          }
          return result;
        } finally {
          if (!isStored) {
            await copy.end();
            rmSync(file, { force: true });
          }
        }
      },
    };
  }

  /** Resolves when the database is open. @throws where it could not be opened. */
  async ready(): Promise<void> {
    await this.#database;
  }

  /** The results since the last call, in order. */
  take(): readonly ResultReport[] {
    const taken = this.#stored;
    this.#stored = [];
    return taken;
  }

  get #empty(): string {
    return join(this.#setting.spill, "empty.duckdb");
  }

  async #open(): Promise<Session> {
    const session = await Session.open({
      memoryLimit: MEMORY,
      threads: 2,
      spillUnder: this.#setting.spill,
    });
    // To find the best compression would take longer than most queries, and the size of the file would not limit what
    // is read from it.
    await session.run("SET force_compression = 'uncompressed'");
    await makeEmptyDatabase(session, this.#empty);
    return session;
  }
}

/** Size of a file in bytes; 0 where there is none. */
function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}
