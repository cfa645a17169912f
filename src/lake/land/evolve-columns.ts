import { LakeError } from "../../core/errors.js";
import { type Column, type ColumnType, DUCKDB_TYPE } from "../../schema/column.js";
import type { Snapshot } from "../log/snapshot.js";
import type { StagedColumns } from "./staged-rows.js";

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
