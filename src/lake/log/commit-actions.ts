import { VERSION } from "../../core/version.js";
import type { Action } from "./delta-actions.js";
import { addActionOf, type DataFile } from "./snapshot.js";

/** Name and version of this program: commits and runs are signed with it. */
export const ENGINE = `barlake/${VERSION}`;

/** The action that takes a live file out of a table's list; the file itself stays. */
export function removeAction(
  file: DataFile,
  options: {
    /** Epoch milliseconds. */
    readonly now: number;
    /** False where the same rows stand in files that the same commit adds. */
    readonly dataChange: boolean;
  },
): Action {
  return {
    remove: {
      // As it was added, letter for letter: there is more than one way to encode a path, and readers compare the texts.
      path: addActionOf(file).path,
      deletionTimestamp: options.now,
      dataChange: options.dataChange,
      extendedFileMetadata: true,
      partitionValues: file.partitionValues,
      size: file.size,
    },
  };
}

/** The action that records what has landed, so that it does not land again. @param now epoch milliseconds. */
export function txnAction(identity: string, now: number): Action {
  return { txn: { appId: identity, version: 0, lastUpdated: now } };
}

/** The action that says what a commit did, in which run and when (epoch ms). Metrics are whole numbers, by name. */
export function commitInfoAction(
  { operation, runId, now }: { readonly operation: string; readonly runId: string; readonly now: number },
  metrics: Readonly<Record<string, number>>,
): Action {
  return {
    commitInfo: {
      timestamp: now,
      operation,
      operationParameters: { runId },
      operationMetrics: Object.fromEntries(Object.entries(metrics).map(([name, n]) => [name, String(n)])),
      engineInfo: ENGINE,
    },
  };
}
