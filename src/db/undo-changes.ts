import { type DuckDBConnection, StatementType } from "@duckdb/node-api";

/** Statements that store rows; a rollback undoes them. */
const STORING: ReadonlySet<StatementType> = new Set([
  StatementType.CREATE,
  StatementType.INSERT,
  StatementType.UPDATE,
  StatementType.DELETE,
  StatementType.MERGE_INTO,
]);

/**
 * Whether a text is a single statement that stores rows. Only a text with one of these words is prepared to find out.
 * An invalid statement does not count: it fails where it runs.
 */
export async function isStoring(connection: DuckDBConnection, sql: string): Promise<boolean> {
  if (!/\b(create|insert|update|delete|merge)\b/i.test(sql)) return false;
  const statements = await connection.extractStatements(sql).catch(() => undefined);
  if (statements?.count !== 1) return false;
  const statement = await statements.prepare(0).catch(() => undefined);
  const stores = statement !== undefined && STORING.has(statement.statementType);
  statement?.destroySync();
  return stores;
}

/**
 * Runs a statement that stores rows, then a check, and rolls the statement back where the check fails. In a transaction
 * of the caller, the whole transaction is rolled back.
 */
export async function undoUnless<T>(
  connection: DuckDBConnection,
  run: () => Promise<T>,
  check: () => Promise<void>,
): Promise<T> {
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
    throw error;
  }
}

/** Whether a transaction was begun: outside one, each statement is a separate transaction. */
async function isInTransaction(connection: DuckDBConnection): Promise<boolean> {
  const id = async (): Promise<unknown> =>
    (await (await connection.run("SELECT txid_current()")).getRows())[0]?.[0];
  return (await id()) === (await id());
}
