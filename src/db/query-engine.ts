import type { RecordBatch } from "apache-arrow";
import type { RowReader } from "./result/row-reader.js";
import type { StatementResult } from "./result/statement-result.js";
import type { NamedValues, TypedValue } from "./session/named-values.js";

/** How far a statement is. */
export interface StatementProgress {
  /** From 0 to 100. */
  readonly percentage: number;
  /** Rows that it has read. */
  readonly rows: number;
}

/** What runs SQL: a DuckDB session, or a server. Not for concurrent statements. */
export interface QueryEngine {
  /** Runs one statement to its end. @throws {QueryError} with the statement. */
  run(sql: string): Promise<unknown>;
  /** Runs one statement and returns a reader of its rows. A reader ends with the next statement. @throws {QueryError} */
  read(sql: string): Promise<RowReader>;
  /** Runs one query and returns its rows as Arrow record batches, as they are computed. @throws {QueryError} */
  batches(sql: string): Promise<AsyncGenerator<RecordBatch, void, undefined>>;
  /** Runs one statement to its end and returns its first rows by column; `$name` is the place of a value. */
  result(sql: string, values: NamedValues, limit: number): Promise<StatementResult>;
  /** Computes an expression's value, or casts a text to its type. @throws {QueryError} with the expression. */
  value(expression: string, values: NamedValues, text?: string): Promise<TypedValue>;
  /** Checks the files that were read so far, where the engine does so. */
  checkReads(): Promise<void>;
  interrupt(): void;
  /** How far the running statement is, where the engine knows it. */
  progress?(): StatementProgress | undefined;
  /** Whether it knows `SET VARIABLE`. @default true */
  readonly hasVariables?: boolean;
}
