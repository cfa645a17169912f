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

export function nullable(name: string, type: ColumnType, doc: string, unit?: string): Column {
  return { name, type, nullable: true, ...(unit === undefined ? {} : { unit }), doc };
}

/**
 * What of a table was known at a time: the rule of a row, and of the values of it that were learned later. The condition
 * in SQL is of `knownRowsSql`.
 *
 * - `days`: daily bars of dates whose bars no longer change; of a running day, a bar of its minutes that have ended.
 * - `minutes`: bars that have ended.
 * - `sessions`: rows of dates whose session had opened.
 * - `stretches`: rows whose first date had opened, until the newest date that had.
 * - `statements`: versions that the lake had seen, and the first one seen of each announcement from the day after it.
 * - `actions`: versions that the lake had seen, and the first one of each action from the day after its announcement, and from
 *   the opening of its ex-date.
 * - `changes`: changes of dates that had begun; an end that had not is null.
 * - `snapshots`: versions that the lake had seen; one that was current then has no end.
 * - `log`: what the lake itself had done by then.
 */
export type KnownRule =
  | { readonly by: "days" | "minutes" | "statements" | "actions" }
  | { readonly by: "sessions"; readonly date: string }
  | { readonly by: "stretches"; readonly first: string; readonly last: string }
  | { readonly by: "changes"; readonly from: string; readonly until: string }
  /**
   * @param within the column of what a snapshot shows as a whole: what it does not show was not there. @param of the column of
   * what has a first version.
   */
  | { readonly by: "snapshots"; readonly within: string; readonly of: string }
  | { readonly by: "log"; readonly at: string };

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
  /** Which rows were known at a time. */
  readonly known: KnownRule;
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
