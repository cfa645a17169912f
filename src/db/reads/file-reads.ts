import type { DuckDBConnection, DuckDBInstance, DuckDBPreparedStatement } from "@duckdb/node-api";

/** A file that was read. */
export interface FileRead {
  readonly path: string;
  /** First byte that was read. */
  readonly first: number;
  /** The smallest end of all reads; exclusive. */
  readonly end: number;
}

/**
 * Lists the files that the statements of a database read and write, from DuckDB's log of its file system. A query plan is not
 * enough: it counts the files that it scans, and does not name them.
 */
export class FileReads {
  readonly #connection: DuckDBConnection;
  readonly #list: DuckDBPreparedStatement;

  private constructor(connection: DuckDBConnection, list: DuckDBPreparedStatement) {
    this.#connection = connection;
    this.#list = list;
  }

  /** Starts the log. */
  static async open(instance: DuckDBInstance): Promise<FileReads> {
    const connection = await instance.connect();
    await connection.run("CALL enable_logging('FileSystem')");
    const list = await connection.prepare(
      // The macro duckdb_logs_parsed gives the same, and takes twice as long.
      `SELECT entry.op, entry.path, min(entry.pos)::DOUBLE, min(entry.pos + entry.bytes)::DOUBLE
       FROM (SELECT parse_duckdb_log_message('FileSystem', message) AS entry FROM duckdb_logs() WHERE type = 'FileSystem')
       WHERE entry.op IN ('READ', 'WRITE') GROUP BY entry.op, entry.path`,
    );
    return new FileReads(connection, list);
  }

  /** The files that were read and written since the last call, one entry for each file. */
  async take(): Promise<{ reads: FileRead[]; written: string[] }> {
    const found = await this.#list.run();
    const rows = await found.getRows();
    if (rows.length > 0) await this.#connection.run("CALL truncate_duckdb_logs()");
    const reads: FileRead[] = [];
    const written: string[] = [];
    for (const [op, path, first, end] of rows)
      if (op === "WRITE") written.push(String(path));
      else reads.push({ path: String(path), first: Number(first), end: Number(end) });
    return { reads, written };
  }

  close(): void {
    this.#list.destroySync();
    this.#connection.closeSync();
  }
}
