import { QueryError } from "../../core/errors.js";
import type { QueryEngine } from "../../db/query-engine.js";
import { forbiddenBy } from "./statement-rule.js";

/** An engine that refuses statements that do more than read, before they run: see {@link forbiddenBy}. */
export function sandboxedEngine(engine: QueryEngine): QueryEngine {
  const checked = <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    const reason = forbiddenBy(sql);
    if (reason === undefined) return run();
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
