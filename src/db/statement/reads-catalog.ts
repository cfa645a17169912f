/**
 * Words of statements whose result may depend on all names of a database: lists of them, and functions that compute the
 * name of what they read.
 */
const CATALOG =
  /\b(?:show|describe|pragma|call|query|query_table|database|information_schema|sql_auto_complete|(?:duckdb|pg|sqlite)_\w+)\b|(?:^|[(;])\s*desc\b/i;

/**
 * Whether a statement may read the catalog. A statement that does not needs only the views whose names it mentions: a
 * missing view makes it fail, and no other view changes its result.
 */
export function readsCatalog(sql: string): boolean {
  return CATALOG.test(sql);
}
