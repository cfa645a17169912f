import { expect, test } from "vitest";
import { readsCatalog } from "../../../src/db/sql-tokens.js";

test.each([
  "SHOW TABLES",
  "DESCRIBE bars_1d",
  "desc bars_1d",
  "FROM (DESC bars_1d)",
  "SELECT * FROM duckdb_columns() WHERE comment IS NULL",
  "select * from information_schema.tables",
  "FROM pg_catalog.pg_class",
  "PRAGMA show_tables",
  "CALL pragma_version()",
  "FROM query_table('bars_' || '1d')",
  "FROM query('SHOW ' || 'TABLES')",
  "COPY FROM DATABASE memory TO other",
])("%s may read the catalog", (sql) => {
  expect(readsCatalog(sql)).toBe(true);
});

test.each([
  "FROM bars_1d ORDER BY trade_date DESC LIMIT 5",
  "SELECT description FROM universes",
  "SUMMARIZE bars_1d",
])("%s needs only the names that it mentions", (sql) => {
  expect(readsCatalog(sql)).toBe(false);
});
