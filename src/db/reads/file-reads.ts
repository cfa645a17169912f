import type { DuckDBConnection, DuckDBInstance, DuckDBPreparedStatement } from "@duckdb/node-api";

/** A file that was read. */
export interface FileRead {
  readonly path: string;
  /** First byte that was read. */
  readonly first: number;
  /** The smallest end of all reads; exclusive. */
  readonly end: number;
}

/** With as many entries, they are not looked at one by one. */
const MANY = 20;

/**
 * Lists the files that the statements of a database read and write, from DuckDB's log of its file system. A query plan is not
 * enough: it counts the files that it scans, and does not name them.
 */
export class FileReads {
  readonly #connection: DuckDBConnection;
  /** Gives the first entries: most statements read nothing, and to list nothing takes three times as long. */
  readonly #first: DuckDBPreparedStatement;
  readonly #list: DuckDBPreparedStatement;

  private constructor(
    connection: DuckDBConnection,
    first: DuckDBPreparedStatement,
    list: DuckDBPreparedStatement,
  ) {
    this.#connection = connection;
    this.#first = first;
    this.#list = list;
  }

  static async open(instance: DuckDBInstance): Promise<FileReads> {
    const connection = await instance.connect();
    await connection.run("CALL enable_logging('FileSystem')");
    const entries = "FROM duckdb_logs() WHERE type = 'FileSystem'";
    const first = await connection.prepare(`SELECT message ${entries} LIMIT ${MANY}`);
    const list = await connection.prepare(
      // The macro duckdb_logs_parsed gives the same, and takes twice as long.
      `SELECT entry.op, entry.path, min(entry.pos)::DOUBLE, min(entry.pos + entry.bytes)::DOUBLE
       FROM (SELECT parse_duckdb_log_message('FileSystem', message) AS entry ${entries})
       WHERE entry.op IN ('READ', 'WRITE') GROUP BY entry.op, entry.path`,
    );
    return new FileReads(connection, first, list);
  }

  /** The files that were read and written since the last call, one entry for each file. */
  async take(): Promise<{ reads: FileRead[]; written: string[] }> {
    const messages = await (await this.#first.run()).getRows();
    if (messages.length === 0) return { reads: [], written: [] };
    // A file whose rows a query does not need is opened and closed.
    const isOnlyOpened =
      messages.length < MANY && !messages.some(([message]) => /read|write/i.test(String(message)));
    const rows = isOnlyOpened ? [] : await (await this.#list.run()).getRows();
    await this.#connection.run("CALL truncate_duckdb_logs()");
    const reads: FileRead[] = [];
    const written: string[] = [];
    for (const [op, path, first, end] of rows)
      if (op === "WRITE") written.push(String(path));
      else reads.push({ path: String(path), first: Number(first), end: Number(end) });
    return { reads, written };
  }

  close(): void {
    this.#first.destroySync();
    this.#list.destroySync();
    this.#connection.closeSync();
  }
}
