import { QueryError } from "../../core/errors.js";
import type { QueryEngine } from "../../db/query-engine.js";
import { NARROWER } from "./session-limits.js";
import { forbiddenBy } from "./statement-rule.js";

/** An engine that refuses statements that do more than read, before they run: see {@link forbiddenBy}. */
export function sandboxedEngine(engine: QueryEngine): QueryEngine {
  const checked = <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    const reason = forbiddenBy(sql);
    if (reason === undefined) return run().catch((error: unknown) => Promise.reject(withOwnHint(error)));
    const hint = "barlake sql runs it, with the rights of the user who starts it";
    return Promise.reject(new QueryError(reason, sql, { hint }));
  };
  return {
    run: (sql) => checked(sql, () => engine.run(sql)),
    read: (sql) => checked(sql, () => engine.read(sql)),
    batches: (sql) => checked(sql, () => engine.batches(sql)),
    result: (sql, values, limit) => checked(sql, () => engine.result(sql, values, limit)),
    // The text is the value of a parameter. The expression becomes part of a query that begins with SELECT.
    value: (expression, values, text) =>
      checked(`SELECT (${expression}\n)`, () => engine.value(expression, values, text)),
    checkReads: () => engine.checkReads(),
    interrupt: () => engine.interrupt(),
  };
}

/**
 * DuckDB's error where the memory of the session is used up, without its advice: it names settings, which are locked
 * here.
 */
function withOwnHint(error: unknown): unknown {
  if (!(error instanceof QueryError) || !error.message.startsWith("Out of Memory Error")) return error;
  const [message = ""] = error.message.split("\n");
  return new QueryError(message, error.sql, {
    hint: `${NARROWER}; barlake sql has more memory`,
    cause: error,
  });
}
