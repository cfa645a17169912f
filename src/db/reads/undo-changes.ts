import type { DuckDBConnection } from "@duckdb/node-api";
import { StatementType } from "../../arrow/duckdb-api.js";
import { ident, literal } from "../quote.js";
import { bindNamed, computeValue, type TypedValue } from "../session/named-values.js";

/** Statements that leave nothing behind that could have come from a table's rows. */
const CHANGING_NOTHING: ReadonlySet<StatementType> = new Set([
  StatementType.SELECT,
  StatementType.TRANSACTION,
  StatementType.PREPARE,
  StatementType.ATTACH,
  StatementType.DETACH,
  StatementType.LOAD,
  StatementType.VACUUM,
]);
/** A text that begins like this is a query if it is one statement, and has none of the words of a change. */
const QUERY =
  /^(?:\s|--[^\n]*\n|\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:select|from|values|with|pivot|unpivot|describe|summarize|show)\b/i;
const CHANGE = /;\s*\S|\b(?:insert|update|delete|merge)\b/i;

/** Whether a text is seen to be one query without a parser. */
export function isQueryText(sql: string): boolean {
  return QUERY.test(sql) && !CHANGE.test(sql);
}

/**
 * Whether a statement may leave something behind: rows, a variable, a file. Every statement counts that is not known to
 * leave nothing. A query is recognized by its first word, without a parser. An invalid statement does not count: it
 * fails where it runs.
 */
export async function mayChange(connection: DuckDBConnection, sql: string): Promise<boolean> {
  if (isQueryText(sql)) return false;
  const statements = await connection.extractStatements(sql).catch(() => undefined);
  if (statements === undefined || statements.count === 0) return false;
  // DuckDB makes several of some statements.
  if (statements.count > 1) return true;
  const statement = await statements.prepare(0).catch(() => undefined);
  if (statement === undefined) return false;
  const { statementType } = statement;
  statement.destroySync();
  return !CHANGING_NOTHING.has(statementType);
}

/**
 * Runs a statement, then a check, and undoes the statement where the check fails: its transaction is rolled back, and
 * variables, which have no transactions, get their values back. In a transaction of the caller, the whole transaction
 * is rolled back.
 */
export async function undoUnless<T>(
  connection: DuckDBConnection,
  sql: string,
  run: () => Promise<T>,
  check: () => Promise<void>,
): Promise<T> {
  const before = /\bvariable\b/i.test(sql) ? await variablesOf(connection) : undefined;
  const isOwn = !(await isInTransaction(connection));
  if (isOwn) await connection.run("BEGIN");
  let hasRun = false;
  try {
    const value = await run();
    hasRun = true;
    await check();
    if (isOwn) await connection.run("COMMIT");
    return value;
  } catch (error) {
    if (isOwn || hasRun) await connection.run("ROLLBACK").catch(() => {});
    if (hasRun && before !== undefined) await restoreVariables(connection, before);
    throw error;
  }
}

/** Whether a transaction was begun: outside one, each statement is a separate transaction. */
async function isInTransaction(connection: DuckDBConnection): Promise<boolean> {
  const id = async (): Promise<unknown> =>
    (await (await connection.run("SELECT txid_current()")).getRows())[0]?.[0];
  return (await id()) === (await id());
}

async function variablesOf(connection: DuckDBConnection): Promise<Map<string, TypedValue>> {
  const variables = new Map<string, TypedValue>();
  for (const name of await variableNames(connection))
    variables.set(
      name,
      await computeValue(connection, `getvariable(${literal(name)})`, new Map(), undefined),
    );
  return variables;
}

async function restoreVariables(
  connection: DuckDBConnection,
  before: ReadonlyMap<string, TypedValue>,
): Promise<void> {
  for (const name of await variableNames(connection))
    if (!before.has(name)) await connection.run(`RESET VARIABLE ${ident(name)}`);
  for (const [name, value] of before) {
    const statement = await connection.prepare(`SET VARIABLE ${ident(name)} = $value`);
    try {
      bindNamed(statement, new Map([["value", value]]));
      await statement.run();
    } finally {
      statement.destroySync();
    }
  }
}

async function variableNames(connection: DuckDBConnection): Promise<string[]> {
  const found = await connection.run("SELECT name FROM duckdb_variables()");
  return (await found.getRows()).map(([name]) => String(name));
}
