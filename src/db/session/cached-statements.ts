import type { DuckDBConnection, DuckDBPreparedStatement, DuckDBResult, DuckDBValue } from "@duckdb/node-api";
import { StatementType } from "../../arrow/duckdb-api.js";

/** Most statements in the cache. */
const MOST_CACHED = 32;

/**
 * Prepared queries, which are reused for the same text: binding a query over views takes about as long as running a short
 * query. DuckDB does not bind a prepared query again when one of its views was replaced, so each statement that is not a
 * query empties the cache. It is a class because it owns the statements.
 */
export class CachedStatements {
  readonly #connection: DuckDBConnection;
  /** By text, the least recently used first. */
  readonly #cached = new Map<string, DuckDBPreparedStatement>();

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

  /** Empties the cache: before a statement that may change a view. */
  drop(): void {
    for (const statement of this.#cached.values()) statement.destroySync();
    this.#cached.clear();
  }

  /** @returns undefined for anything but one valid query. */
  async #take(sql: string): Promise<DuckDBPreparedStatement | undefined> {
    const statement = this.#cached.get(sql) ?? (await this.#connection.prepare(sql).catch(() => undefined));
    if (statement === undefined) return undefined;
    if (statement.statementType !== StatementType.SELECT) {
      statement.destroySync();
      return undefined;
    }
    this.#cached.delete(sql);
    this.#cached.set(sql, statement);
    if (this.#cached.size > MOST_CACHED) {
      const [oldest = "", unused] = this.#cached.entries().next().value ?? [];
      unused?.destroySync();
      this.#cached.delete(oldest);
    }
    return statement;
  }
}
