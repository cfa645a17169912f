import type { ColumnType, TableSchema } from "../schema/column.js";

const TYPES: Readonly<Record<ColumnType, string>> = {
  string: "VARCHAR",
  double: "DOUBLE",
  int64: "BIGINT",
  int32: "INTEGER",
  boolean: "BOOLEAN",
  date: "DATE",
  timestamp: "TIMESTAMP(6) WITH TIME ZONE",
  "string[]": "ARRAY(VARCHAR)",
};

/** A relation in Trino with the columns of a table and no rows, used instead of a table that has not landed yet. */
export function emptyTableSql({ columns }: Pick<TableSchema, "columns">): string {
  const nulls = columns.map(({ name, type }) => `CAST(NULL AS ${TYPES[type]}) AS ${name}`);
  return `(SELECT ${nulls.join(", ")} WHERE false)`;
}
