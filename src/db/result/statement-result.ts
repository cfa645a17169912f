/** The kind of a column's values; `date` is in days, `time` in milliseconds since 1970-01-01 UTC. */
export type ValueKind = "number" | "boolean" | "date" | "time" | "text";

/** A whole number that a double cannot hold is a bigint. */
export type ResultValue = number | bigint | boolean | string | null;

/** A column of a result. */
export interface ResultColumn {
  readonly name: string;
  readonly kind: ValueKind;
  readonly values: readonly ResultValue[];
}

/** The result of one statement. */
export interface StatementResult {
  /** Empty for a statement without rows, such as CREATE. */
  readonly columns: readonly ResultColumn[];
  /** The number of all rows, also of those that are not in `columns`. */
  readonly rows: number;
}

/** A result with at most `limit` rows in its columns. */
export function firstRows({ columns, rows }: StatementResult, limit: number): StatementResult {
  return { columns: columns.map((column) => ({ ...column, values: column.values.slice(0, limit) })), rows };
}
