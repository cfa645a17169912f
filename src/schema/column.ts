/**
 * The types that a lake column can have: the intersection of Arrow, Parquet, Delta and DuckDB that every engine reads.
 * `timestamp` is UTC in microseconds, `date` the exchange's own calendar date.
 */
export type ColumnType =
  | "string"
  | "double"
  | "int64"
  | "int32"
  | "boolean"
  | "date"
  | "timestamp"
  | "string[]";

/** One column of a table. */
export interface Column {
  readonly name: string;
  readonly type: ColumnType;
  readonly nullable?: boolean;
  /** Whether a later version added it: files that were written before lack it, and it is null. @default false */
  readonly isAdded?: boolean;
  /** Name on the wire, where the service delivers the column; the same as `name` unless given. */
  readonly wire?: string;
  /** Unit of the values, as shown in SQL comments and docs. */
  readonly unit?: string;
  readonly doc: string;
}

/** A column that always has a value. Its name stays a literal type, for those that are a part of a partition's span. */
export function column<N extends string>(
  name: N,
  type: ColumnType,
  doc: string,
  unit?: string,
): Column & { readonly name: N } {
  return { name, type, ...(unit === undefined ? {} : { unit }), doc };
}

/** A column whose value can be absent. */
export function nullable(name: string, type: ColumnType, doc: string, unit?: string): Column {
  return { name, type, nullable: true, ...(unit === undefined ? {} : { unit }), doc };
}

/** A table of the lake. The decoder, Arrow, Parquet, SQL comments, docs and service all read this one declaration. */
export interface TableSchema {
  readonly name: string;
  /** What the table contains; becomes its COMMENT. */
  readonly doc: string;
  readonly columns: readonly Column[];
  /** Columns that identify a row. */
  readonly key: readonly string[];
  /** Order of the rows within a data file. */
  readonly sort: readonly string[];
  /** Columns whose values are in the path instead of in the file. */
  readonly partition: readonly string[];
  /** The partition column that is a span of time, and the date column that always lies within that span. */
  readonly span?: PartitionSpan;
  /** Columns whose minimum and maximum are in the log, so that files are skipped before they are opened. */
  readonly stats: readonly string[];
  /** Whether a delivery may add numeric columns that are not declared. @default false */
  readonly open?: boolean;
}

/** A partition by time. */
export interface PartitionSpan {
  /** The partition column: the first day of the month, or the number of the year. */
  readonly partition: string;
  readonly unit: "month" | "year";
  /** The column that the partition column is derived from: a date that is never null. */
  readonly date: string;
}

/** The DuckDB type of a column type. */
export const DUCKDB_TYPE: Readonly<Record<ColumnType, string>> = {
  string: "VARCHAR",
  double: "DOUBLE",
  int64: "BIGINT",
  int32: "INTEGER",
  boolean: "BOOLEAN",
  date: "DATE",
  timestamp: "TIMESTAMPTZ",
  "string[]": "VARCHAR[]",
};

export function columnOf(table: TableSchema, name: string): Column {
  const found = table.columns.find((c) => c.name === name);
  if (found === undefined) throw new Error(`table ${table.name} declares no column ${name}`);
  return found;
}
