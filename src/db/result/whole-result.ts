import type {
  DuckDBConnection,
  DuckDBDataChunk,
  DuckDBPreparedStatement,
  DuckDBResult,
} from "@duckdb/node-api";
import { ResultReturnType, StatementType } from "../../arrow/duckdb-api.js";
import { messageOf, QueryError } from "../../core/errors.js";
import { explained } from "../file-fault.js";

/** The hint for a result that stopped: its reader may already have passed rows on. */
const STOPPED_HINT = "the rows that came before the error are not the whole result";

export type WhyStopped = (rows: number) => Promise<Error>;
/**
 * Makes a streaming result throw where it stops before its end. DuckDB's Node client returns an empty chunk at the end of
 * a result, and also where the query fails after its first chunks: only the return type, which is invalid once the result
 * has an error, distinguishes the two. All other methods that read rows call `fetchChunk`, so that they throw too.
 *
 * @param atEnd runs before the end is reported; what it throws is the result's error.
 * @param expectOpen runs before each chunk; it throws where the result's session is closed.
 */
export function wholeResult(
  result: DuckDBResult,
  why: WhyStopped,
  atEnd: () => Promise<void>,
  expectOpen: () => void = () => {},
): DuckDBResult {
  let rows = 0;
  let failure: Promise<Error> | undefined;
  let end: { readonly chunk: DuckDBDataChunk | null } | undefined;
  const fetchChunk = result.fetchChunk.bind(result);
  result.fetchChunk = async () => {
    // A fetch after the end would make the result invalid.
    if (end !== undefined) return end.chunk;
    if (failure !== undefined) throw await failure;
    expectOpen();
    const chunk = await fetchChunk();
    if (chunk !== null && chunk.rowCount > 0) {
      rows += chunk.rowCount;
      return chunk;
    }
    if (result.returnType === ResultReturnType.INVALID) {
      failure = why(rows);
      throw await failure;
    }
    try {
      await atEnd();
    } catch (error) {
      failure = Promise.resolve(error as Error);
      throw error;
    }
    end = { chunk };
    return chunk;
  };
  return result;
}

/**
 * Finds the error of a query whose result stopped, which the client does not return: the query runs again, without a
 * result, in bounded memory. @returns undefined where it does not fail again, or must not run twice.
 */
export async function whyStopped(
  connection: DuckDBConnection,
  sql: string,
  bind: (statement: DuckDBPreparedStatement) => void,
): Promise<Error | undefined> {
  try {
    if (!(await isOneQuery(connection, sql))) return undefined;
  } catch (error) {
    // The query was valid when it began; for example, one of its files is gone now.
    return error instanceof Error ? error : new Error(messageOf(error));
  }
  const again = await connection.prepare(`EXPLAIN ANALYZE\n${sql}`).catch(() => undefined);
  if (again === undefined) return undefined;
  try {
    bind(again);
    await again.run();
    return undefined;
  } catch (error) {
    return /transaction is aborted/i.test(messageOf(error)) ? undefined : withLinesOf(error);
  } finally {
    again.destroySync();
  }
}

export function stoppedError(sql: string, rows: number, reason: Error | undefined): QueryError {
  const { message, hint } = explained(reason ?? new Error(`the result stopped after ${rows} rows`));
  return new QueryError(message, sql, { hint: hint ?? STOPPED_HINT, cause: reason });
}

async function isOneQuery(connection: DuckDBConnection, sql: string): Promise<boolean> {
  const statements = await connection.extractStatements(sql);
  if (statements.count !== 1) return false;
  const statement = await statements.prepare(0);
  try {
    return statement.statementType === StatementType.SELECT;
  } finally {
    statement.destroySync();
  }
}

/** The error with line numbers of the query itself: EXPLAIN ANALYZE added a line above it. */
function withLinesOf(error: unknown): Error {
  const message = messageOf(error).replace(/^LINE (\d+):/m, (_, line: string) => `LINE ${Number(line) - 1}:`);
  return new Error(message, { cause: error });
}
