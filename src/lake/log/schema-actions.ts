import { randomUUID } from "node:crypto";
import type { Column } from "../../schema/column.js";
import { type Action, type MetaData, PROTOCOL } from "./delta-actions.js";
import { schemaString } from "./delta-schema.js";
import type { Snapshot } from "./snapshot.js";

/** The configuration key that marks a table whose columns changed when it already had commits. */
const COLUMNS_ADDED = "barlake.columnsAdded";

/** Whether a table's files may differ in their columns. */
export function hasMixedFiles({ table, columns, metaData }: Snapshot): boolean {
  const isEvolved = metaData?.configuration[COLUMNS_ADDED] === "true";
  return isEvolved || columns.length !== table.columns.length;
}

/** The actions that set a table's columns: in its first commit, or when they change. */
export function schemaActions(base: Snapshot, columns: readonly Column[], now: number): Action[] {
  const { table, metaData } = base;
  const configuration = { ...metaData?.configuration };
  if (base.version >= 0) configuration[COLUMNS_ADDED] = "true";
  const next: MetaData = {
    id: metaData?.id ?? randomUUID(),
    name: table.name,
    description: table.doc,
    format: { provider: "parquet", options: {} },
    schemaString: schemaString(columns),
    partitionColumns: table.partition,
    configuration,
    createdTime: metaData?.createdTime ?? now,
  };
  return base.version < 0 ? [{ protocol: PROTOCOL }, { metaData: next }] : [{ metaData: next }];
}
