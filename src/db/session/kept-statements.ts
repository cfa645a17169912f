import type { DuckDBConnection, DuckDBPreparedStatement, DuckDBResult, DuckDBValue } from "@duckdb/node-api";
import { StatementType } from "../../arrow/duckdb-api.js";

/** Most statements that are kept. */
const MOST_KEPT = 32;

/**
 * Prepared queries that are used again when the same text comes again: to bind a query over views takes about as long as
 * to run a short one. DuckDB does not bind one again where a view of it was replaced, so that each statement that is no query
 * drops all of them. It is a class because it owns the statements.
 */
export class KeptStatements {
  readonly #connection: DuckDBConnection;
  /** By text, the least recently used first. */
  readonly #kept = new Map<string, DuckDBPreparedStatement>();

  constructor(connection: DuckDBConnection) {
    this.#connection = connection;
  }

  /** Runs a statement, and gives its result as it is computed. */
  async stream(sql: string, values: DuckDBValue[] | Record<string, DuckDBValue> = {}): Promise<DuckDBResult> {
    const statement = await this.#take(sql);
    if (statement === undefined) {
      this.drop();
      return this.#connection.stream(sql, values);
    }
    // A value that is not given again would otherwise be the last one.
    statement.clearBindings();
    statement.bind(values);
    return statement.stream();
  }

  /** Drops what is kept: before a statement that may change a view. */
  drop(): void {
    for (const statement of this.#kept.values()) statement.destroySync();
    this.#kept.clear();
  }

  /** @returns undefined for anything but one valid query. */
  async #take(sql: string): Promise<DuckDBPreparedStatement | undefined> {
    const statement = this.#kept.get(sql) ?? (await this.#connection.prepare(sql).catch(() => undefined));
    if (statement === undefined) return undefined;
    if (statement.statementType !== StatementType.SELECT) {
      statement.destroySync();
      return undefined;
    }
    this.#kept.delete(sql);
    this.#kept.set(sql, statement);
    if (this.#kept.size > MOST_KEPT) {
      const [oldest = "", unused] = this.#kept.entries().next().value ?? [];
      unused?.destroySync();
      this.#kept.delete(oldest);
    }
    return statement;
  }
}
