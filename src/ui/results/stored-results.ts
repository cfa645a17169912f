import { randomUUID } from "node:crypto";
import type { QueryEngine } from "../../db/query-engine.js";
import { ident, literal } from "../../db/quote.js";
import { Session } from "../../db/session/session.js";
import { formatValues } from "../../notebook/page/format-values.js";
import type { ResultReport, RowsReport } from "../page-data.js";
import { type ExportFormat, exportedFile } from "./exported-file.js";

/** Most results that are stored. If there are more, the oldest ones are dropped. */
const MOST_RESULTS = 40;
/** Most memory and disk space of all results. */
const MEMORY = "128MB";
const MOST_SPILLED = "2GB";
/** Most rows that a page gets at once. */
const MOST_ROWS = 500;

/**
 * Stores results of runs, so that a page can scroll and export them. Each result is copied, while it is read, into a
 * table of a separate database, in which no statement of a user runs. Memory and disk space are limited. A result that
 * exceeds them is not stored, and has no id. It is a class because it owns the database.
 */
export class StoredResults implements Disposable {
  readonly #limits: { readonly memory: string; readonly spilled: string };
  #database: Promise<Session> | undefined;
  /** Number of rows by id, the oldest result first. */
  readonly #rows = new Map<string, number>();

  /** @param limits memory and disk space of all results, in DuckDB's notation. */
  constructor(limits = { memory: MEMORY, spilled: MOST_SPILLED }) {
    this.#limits = limits;
  }

  /**
   * An engine over a session that stores its results, and a function that returns those stored since its last call, in
   * order.
   */
  storing(session: Session): { readonly engine: QueryEngine; readonly take: () => readonly ResultReport[] } {
    let stored: ResultReport[] = [];
    const engine: QueryEngine = {
      run: (sql) => session.run(sql),
      read: (sql) => session.read(sql),
      batches: (sql) => session.batches(sql),
      value: (expression, values, text) => session.value(expression, values, text),
      checkReads: () => session.checkReads(),
      interrupt: () => session.interrupt(),
      result: async (sql, values, limit) => {
        using connection = await (await this.#open()).sibling();
        const id = randomUUID();
        const copy = connection.copyInto(id);
        try {
          const result = await session.result(sql, values, limit, copy);
          if (copy.isWhole && result.rows > 0) stored.push(await this.#store(connection, id, result.rows));
          else if (copy.hasFailed) stored.push({ id: null, rows: result.rows });
          return result;
        } finally {
          copy.discard();
          if (!this.#rows.has(id)) await connection.run(`DROP TABLE IF EXISTS ${ident(id)}`);
        }
      },
    };
    const take = (): readonly ResultReport[] => {
      const taken = stored;
      stored = [];
      return taken;
    };
    return { engine, take };
  }

  /** Rows of a result as texts, from an offset; undefined where the result was dropped. */
  async rowsOf(id: string, from: number, count: number): Promise<RowsReport | undefined> {
    const rows = this.#rows.get(id);
    if (rows === undefined) return undefined;
    using connection = await (await this.#open()).sibling();
    const [first, end] = [from, from + Math.min(count, MOST_ROWS)].map((row) => literal(String(row)));
    const range = `rowid >= ${first}::BIGINT AND rowid < ${end}::BIGINT`;
    const sql = `SELECT * FROM ${ident(id)} WHERE ${range} ORDER BY rowid`;
    const { columns } = await connection.result(sql, new Map(), MOST_ROWS);
    return { from, rows, columns: columns.map((column) => formatValues(column)) };
  }

  /**
   * A result as the content of a file; undefined where the result was dropped. Work begins when the content is read.
   */
  async export(id: string, format: ExportFormat): Promise<AsyncIterable<Uint8Array> | undefined> {
    if (!this.#rows.has(id)) return undefined;
    const connection = await (await this.#open()).sibling();
    return closing(connection, () =>
      format === "arrow" ? arrowOf(connection, ident(id)) : exportedFile(connection, ident(id), format),
    );
  }

  [Symbol.dispose](): void {
    void this.#database?.then((session) => session.close());
  }

  #open(): Promise<Session> {
    this.#database ??= openDatabase(this.#limits);
    return this.#database;
  }

  async #store(connection: Session, id: string, rows: number): Promise<ResultReport> {
    this.#rows.set(id, rows);
    for (const old of [...this.#rows.keys()].slice(0, -MOST_RESULTS)) {
      this.#rows.delete(old);
      await connection.run(`DROP TABLE IF EXISTS ${ident(old)}`);
    }
    return { id, rows };
  }
}

async function openDatabase({
  memory,
  spilled,
}: {
  readonly memory: string;
  readonly spilled: string;
}): Promise<Session> {
  const session = await Session.open({ memoryLimit: memory, threads: 2 });
  await session.run(`SET max_temp_directory_size = ${literal(spilled)}`);
  return session;
}

async function* arrowOf(connection: Session, table: string): AsyncGenerator<Uint8Array> {
  const { batchesToIpc } = await import("../../arrow/batches-ipc.js");
  yield* batchesToIpc(await connection.batches(`FROM ${table}`), "file");
}

async function* closing(
  connection: Session,
  content: () => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  try {
    yield* content();
  } finally {
    connection.close();
  }
}
