import { randomUUID } from "node:crypto";
import { VERSION } from "../../core/version.js";
import type { Column } from "../../schema/column.js";
import { type Action, type MetaData, PROTOCOL, schemaString } from "./delta-actions.js";
import { addActionOf, type DataFile, type Snapshot } from "./snapshot.js";

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

/** Name and version of this program, as written in commits and runs. */
export const ENGINE = `barlake/${VERSION}`;

/** The action that removes a live file from a table's list; the file itself remains. */
export function removeAction(
  file: DataFile,
  options: {
    /** Epoch milliseconds. */
    readonly now: number;
    /** False where the same commit adds files with the same rows. */
    readonly dataChange: boolean;
  },
): Action {
  return {
    remove: {
      // The exact text of the add action is used: a path can be encoded in several ways, and readers compare the texts.
      path: addActionOf(file).path,
      deletionTimestamp: options.now,
      dataChange: options.dataChange,
      extendedFileMetadata: true,
      partitionValues: file.partitionValues,
      size: file.size,
    },
  };
}

/** The action that records a landed response, so that it does not land again. @param now epoch milliseconds. */
export function txnAction(identity: string, now: number): Action {
  return { txn: { appId: identity, version: 0, lastUpdated: now } };
}

/**
 * The action that records what a commit did, in which run and when (epoch ms). Metrics are whole numbers, by name.
 *
 * @param parameters of the operation, in addition to the run. @default none
 */
export function commitInfoAction(
  { operation, runId, now }: { readonly operation: string; readonly runId: string; readonly now: number },
  metrics: Readonly<Record<string, number>>,
  parameters: Readonly<Record<string, string>> = {},
): Action {
  return {
    commitInfo: {
      timestamp: now,
      operation,
      operationParameters: { runId, ...parameters },
      operationMetrics: Object.fromEntries(Object.entries(metrics).map(([name, n]) => [name, String(n)])),
      engineInfo: ENGINE,
    },
  };
}
