import { randomUUID } from "node:crypto";
import { rmSync, statSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { QueryError, UsageError } from "../../core/errors.js";
import type { QueryEngine } from "../../db/query-engine.js";
import { ident, literal } from "../../db/quote.js";
import { COPY_OPTIONS, makeEmptyDatabase } from "../../db/result/read-result.js";
import { Session } from "../../db/session/session.js";
import { formatValues } from "../../notebook/page/format-values.js";
import type { ResultReport, RowsReport } from "../page-data.js";
import {
  type ExportJob,
  MOST_TEXT,
  type ProcessSetting,
  type RowsChoice,
  type RowsJob,
  type StoredResult,
} from "../process/jobs.js";

const RESULT_TABLE = "result";

export function resultFile(folder: string, id: string): string {
  return join(folder, `${id}.duckdb`);
}

const MEMORY = "128MB";

/**
 * Stores the results of a run, so that a page can scroll and export them. Each is copied, while it is read, into a new
 * database file, by a database in which no statement of a user runs, and which ends with the process.
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

  /** An engine that stores its results. @param mostBytes of all together: what exceeds it is not stored, without an id. */
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

function sizeOf(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.size ?? 0;
}

/** Memory of the database through which results are read: 500 rows of 2,000 columns fit into it. */
const READER_MEMORY = "256MB";
const READ = "read_result";
const TABLE = `${READ}.${RESULT_TABLE}`;

export class ResultReader {
  readonly #setting: Pick<ProcessSetting, "results" | "spill">;
  #database: Promise<Session> | undefined;
  #attachedId: string | undefined;
  #chosen: { readonly choice: RowsChoice & { readonly id: string }; readonly rows: number } | undefined;

  constructor(setting: Pick<ProcessSetting, "results" | "spill">) {
    this.#setting = setting;
  }

  /** Rows of a result as the JSON of a {@link RowsReport}. @throws {QueryError} where they are too large for a page. */
  rows(job: RowsJob): Promise<string> {
    return this.#attached(job.id, async (session) => {
      const { from, count } = job;
      const [first, end] = [from, from + count].map((row) => `${literal(String(row))}::BIGINT`);
      const isChosen = job.column !== undefined || job.contains !== undefined;
      const rows = isChosen ? await this.#chosenRows(session, job) : job.rows;
      const sql = isChosen
        ? `SELECT r.* FROM ${CHOSEN} c JOIN ${TABLE} r ON r.rowid = c.chosen WHERE c.rowid >= ${first} AND c.rowid < ${end} ORDER BY c.rowid`
        : `SELECT * FROM ${TABLE} WHERE rowid >= ${first} AND rowid < ${end} ORDER BY rowid`;
      const { columns } = await session.result(sql, new Map(), count);
      const report: RowsReport = { from, rows, columns: columns.map((column) => formatValues(column)) };
      const text = JSON.stringify(report);
      if (text.length <= MOST_TEXT) return text;
      throw new QueryError("these rows are too large to be shown", sql, { hint: "export the result" });
    });
  }

  /** Writes a result into a new file, in the same form as results of the command line. */
  write({ id, format, file }: ExportJob): Promise<void> {
    return this.#attached(id, async (session) => {
      if (format === "arrow") await writeFile(file, await arrowOf(session), { flag: "wx" });
      else
        await session.run(
          `COPY (FROM ${TABLE}) TO ${literal(file)} (${COPY_OPTIONS[format]}, USE_TMP_FILE false)`,
        );
    });
  }

  /** Has the rows of a choice in {@link CHOSEN}, which has those of the last one. @returns their number */
  async #chosenRows(session: Session, { id, column, isDescending, contains }: RowsJob): Promise<number> {
    const choice = { id, column, isDescending, contains };
    const before = this.#chosen;
    if (before !== undefined && isDeepStrictEqual(before.choice, choice)) return before.rows;
    this.#chosen = undefined;
    const rows = await choose(session, choice);
    this.#chosen = { choice, rows };
    return rows;
  }

  /**
   * The file stays attached until another one is read: the blocks of each window would be read again, and the allocator of
   * DuckDB returns those of detached files late.
   */
  async #attached<T>(id: string, work: (session: Session) => Promise<T>): Promise<T> {
    this.#database ??= Session.open({
      memoryLimit: READER_MEMORY,
      threads: 2,
      spillUnder: this.#setting.spill,
    });
    const session = await this.#database;
    if (this.#attachedId !== id) {
      this.#attachedId = undefined;
      await session.run(`DETACH DATABASE IF EXISTS ${READ}`);
      await session.run(`ATTACH ${literal(resultFile(this.#setting.results, id))} AS ${READ} (READ_ONLY)`);
      this.#attachedId = id;
    }
    return work(session);
  }
}

/** The rows that fit a choice, in its order: the ids of their rows in {@link TABLE}, by position. */
const CHOSEN = "temp.chosen_rows";

/**
 * Writes the rows that fit a choice into {@link CHOSEN}: eight bytes a row, so that scrolling does not order or filter all
 * rows for each window. @returns their number. @throws {UsageError} for no column
 */
async function choose(
  session: Session,
  { column, isDescending = false, contains }: RowsChoice,
): Promise<number> {
  const columns = await session.json<{ name: string }>(
    `SELECT column_name AS name FROM duckdb_columns() WHERE database_name = ${literal(READ)} ORDER BY column_index`,
  );
  const names = columns.map(({ name }) => ident(name));
  const ordered = column === undefined ? [] : [names[column]];
  if (ordered.includes(undefined)) throw new UsageError(`the result has no column ${column}`);
  const sought = contains === undefined ? "" : literal(contains);
  const fits = names.map((name) => `contains(lower(${name}::VARCHAR), lower(${sought}))`).join(" OR ");
  const where = contains === undefined ? "" : ` WHERE ${fits}`;
  const order = [...ordered.map((name) => `${name} ${isDescending ? "DESC" : "ASC"} NULLS LAST`), "rowid"];
  await session.run(
    `CREATE OR REPLACE TEMP TABLE ${CHOSEN} AS SELECT rowid AS chosen FROM ${TABLE}${where} ORDER BY ${order.join(", ")}`,
  );
  const [{ n } = { n: 0 }] = await session.json<{ n: number }>(
    `SELECT count(*)::INTEGER AS n FROM ${CHOSEN}`,
  );
  return n;
}

async function arrowOf(session: Session): Promise<AsyncGenerator<Uint8Array>> {
  const { batchesToIpc } = await import("../../arrow/batches-ipc.js");
  return batchesToIpc(await session.batches(`FROM ${TABLE}`), "file");
}
