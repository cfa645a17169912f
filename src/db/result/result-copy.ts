import type { DuckDBAppender, DuckDBConnection, DuckDBDataChunk, DuckDBResult } from "@duckdb/node-api";
import { ident } from "../quote.js";

/** Takes the rows of a query while they are read. It never throws: a copy that fails leaves the result as it is. */
export interface ResultCopy {
  /** Makes the table. */
  begin(result: DuckDBResult): Promise<void>;
  add(chunk: DuckDBDataChunk): void;
  end(): void;
  /** Whether the table has every row. */
  readonly isWhole: boolean;
  /** Whether the other database was full. */
  readonly hasFailed: boolean;
  /** Gives up a copy that is not whole; the table remains until it is dropped. */
  discard(): void;
}

/** Copies a result into a new table of another database, with the types that it has. */
export function resultCopy(connection: DuckDBConnection, table: string): ResultCopy {
  let appender: DuckDBAppender | undefined;
  let isWhole = false;
  let hasFailed = false;
  const attempt = (step: () => void): void => {
    try {
      step();
    } catch {
      // The other database is full: the copy ends, and the result can still be read to its end.
      appender = undefined;
      hasFailed = true;
    }
  };
  return {
    begin: async (result) => {
      const columns = result
        .deduplicatedColumnNames()
        .map((name, index) => `${ident(name)} ${result.columnType(index).toString()}`);
      try {
        await connection.run(`CREATE TABLE ${ident(table)} (${columns.join(", ")})`);
        appender = await connection.createAppender(table);
      } catch {
        appender = undefined;
        hasFailed = true;
      }
    },
    add: (chunk) => attempt(() => appender?.appendDataChunk(chunk)),
    end: () =>
      attempt(() => {
        if (appender === undefined) return;
        appender.closeSync();
        isWhole = true;
      }),
    discard: () =>
      attempt(() => {
        if (!isWhole) appender?.closeSync();
        appender = undefined;
      }),
    get isWhole() {
      return isWhole;
    },
    get hasFailed() {
      return hasFailed;
    },
  };
}
