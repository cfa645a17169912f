import { LakeError } from "../../core/errors.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import {
  type Column,
  type ColumnType,
  columnOf,
  DUCKDB_TYPE,
  type TableSchema,
} from "../../schema/column.js";
import type { ScanLayout } from "../files/parquet/write-rows.js";
import type { Snapshot } from "../log/snapshot.js";

export interface StagedPartition {
  /** The partition's values, in the text form of the log. */
  readonly values: Readonly<Record<string, string>>;
  readonly rows: number;
  /** Least value of each key column that has statistics in the log, in the text form of the log. */
  readonly min: Readonly<Record<string, string>>;
  /** Greatest values of the same columns. */
  readonly max: Readonly<Record<string, string>>;
  /** The rows as a table expression, including the partition columns. */
  readonly from: string;
  /** Where `from` is a scan of the rows in the order of the table's files: how it is written. @default the rows are in any order */
  readonly layout?: ScanLayout;
}

/** DuckDB's types of the columns of staged rows, by name. */
export type StagedColumns = ReadonlyMap<string, string>;

export interface StagedRows {
  readonly columns: StagedColumns;
  readonly from: string;
  /**
   * A table expression: a subset of the rows with at least the first and the last key of each value of the key's first
   * column.
   */
  readonly bounds: string;
  readonly partitions: readonly StagedPartition[];
}

export function rowsOf({ partitions }: StagedRows): number {
  return partitions.reduce((sum, { rows }) => sum + rows, 0);
}

export async function stagedColumns(session: Session, name: string): Promise<StagedColumns> {
  const described = await session.json<{ column_name: string; column_type: string }>(
    `DESCRIBE ${ident(name)}`,
  );
  return new Map(described.map((row) => [row.column_name, row.column_type]));
}

/** The rows of a temporary table as staged rows, with the partitions in ascending order. */
export async function stagedTable(
  session: Session,
  table: TableSchema,
  name: string,
  columns: StagedColumns,
): Promise<StagedRows> {
  const keys = table.stats.filter((column) => table.key.includes(column));
  const partition = table.partition.map((column) => `CAST(${ident(column)} AS VARCHAR) AS ${ident(column)}`);
  const ranges = keys.flatMap((column) => [
    `${statSql(table, column, "min")} AS ${ident(`min_${column}`)}`,
    `${statSql(table, column, "max")} AS ${ident(`max_${column}`)}`,
  ]);
  const found = await session.json<Record<string, string>>(
    `SELECT ${[...partition, ...ranges].join(", ")}, count(*)::DOUBLE AS "rows" FROM ${ident(name)}
     GROUP BY ${table.partition.map(ident).join(", ")} ORDER BY ALL`,
  );
  const partitions = found.map((row): StagedPartition => {
    const pick = (names: readonly string[], prefix = ""): Record<string, string> =>
      Object.fromEntries(names.map((column) => [column, row[`${prefix}${column}`] as string]));
    const values = pick(table.partition);
    const tests = Object.entries(values).map(([column, value]) => `${ident(column)} = ${literal(value)}`);
    return {
      values,
      rows: Number(row.rows),
      min: pick(keys, "min_"),
      max: pick(keys, "max_"),
      from: `(SELECT * FROM ${ident(name)} WHERE ${tests.join(" AND ")})`,
    };
  });
  return { columns, from: ident(name), bounds: ident(name), partitions };
}

/** SQL of a minimum or maximum in the text form of the log's statistics. These texts sort as the values do. */
export function statSql(table: TableSchema, name: string, side: "min" | "max"): string {
  const value = `${side}(${ident(name)})`;
  return columnOf(table, name).type === "timestamp"
    ? `strftime(${value} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ')`
    : `CAST(${value} AS VARCHAR)`;
}

/** The lake's column type for each DuckDB type of a delivered column. */
const TYPE_OF: Readonly<Record<string, ColumnType>> = {
  ...(Object.fromEntries(Object.entries(DUCKDB_TYPE).map(([type, sql]) => [sql, type])) as Record<
    string,
    ColumnType
  >),
  "TIMESTAMP WITH TIME ZONE": "timestamp",
};

/** For each type, the types that can represent all its values. */
const WIDENS: Readonly<Partial<Record<ColumnType, readonly ColumnType[]>>> = { int32: ["int64", "double"] };

/**
 * The columns of a table after a delivery has landed: those in the log, those that this version declares in addition
 * and, in an open table, those of the delivery. A column that a delivery leaves out remains.
 *
 * @throws {LakeError} for a column whose type differs from the table's.
 */
export function evolvedColumns(base: Snapshot, delivered: StagedColumns): readonly Column[] {
  const { table } = base;
  for (const { name, type } of table.columns) checkType(base, name, type);
  const known = new Set(base.columns.map((column) => column.name));
  const columns = [...base.columns, ...table.columns.filter(({ name }) => !known.has(name))];
  for (const [name, sql] of delivered) {
    const isKnown = columns.some((column) => column.name === name);
    if (!isKnown && table.open !== true) continue;
    const type = TYPE_OF[sql];
    if (isKnown) checkType({ table, columns }, name, type ?? sql);
    else if (type === undefined)
      throw new LakeError(`table ${table.name}, column ${name}: type ${sql} is not a type of a lake`);
    else columns.push({ name, type, nullable: true, doc: "As delivered." });
  }
  return columns.length === base.columns.length ? base.columns : columns;
}

function checkType(
  { table, columns }: Pick<Snapshot, "table" | "columns">,
  name: string,
  delivered: string,
): void {
  const column = columns.find((one) => one.name === name);
  if (column === undefined || column.type === delivered) return;
  if (WIDENS[delivered as ColumnType]?.includes(column.type)) return;
  throw new LakeError(
    `table ${table.name}, column ${name}: is ${column.type}, and would become ${delivered}; a column's type never changes`,
    { hint: "deliver it under another name, or as the type that it has" },
  );
}
