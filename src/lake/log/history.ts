import type { TableSchema } from "../../schema/column.js";
import type { Storage } from "../storage/storage.js";
import { listLog } from "./log-files.js";
import { commitsUpTo } from "./read-log.js";
import { type Commit, commitTime } from "./snapshot.js";

/** A version of a table, and the commit that made it. */
export interface HistoryEntry {
  readonly version: number;
  /** Epoch milliseconds; undefined where the commit does not say. */
  readonly committedAt: number | undefined;
  /** What was done: IMPORT, INGEST, SIMULATE, OPTIMIZE, REPAIR, WITHDRAW, or another writer's term. */
  readonly operation: string | undefined;
  readonly runId: string | undefined;
  readonly engine: string | undefined;
  readonly inserted: number | undefined;
  readonly updated: number | undefined;
  readonly filesAdded: number;
  readonly filesRemoved: number;
  readonly bytesAdded: number;
}

/** Every version of a table whose commit is still in its log, oldest first. @throws {LakeError} */
export async function readHistory(storage: Storage, table: TableSchema): Promise<HistoryEntry[]> {
  const entries: HistoryEntry[] = [];
  const { commits } = await listLog(storage, table.name);
  for await (const commit of commitsUpTo(storage, table.name, commits[0] ?? 0, commits.at(-1) ?? -1))
    entries.push(entryOf(commit));
  return entries;
}

function entryOf(commit: Commit): HistoryEntry {
  const info = commit.actions.find((action) => "commitInfo" in action)?.commitInfo;
  const adds = commit.actions.flatMap((action) => ("add" in action ? [action.add] : []));
  const metric = (name: string): number | undefined => {
    const text = info?.operationMetrics?.[name];
    return text === undefined ? undefined : Number(text);
  };
  return {
    version: commit.version,
    committedAt: commitTime(commit),
    operation: info?.operation,
    runId: info?.operationParameters?.runId,
    engine: info?.engineInfo,
    inserted: metric("numInsertedRows"),
    updated: metric("numUpdatedRows"),
    filesAdded: adds.length,
    filesRemoved: commit.actions.filter((action) => "remove" in action).length,
    bytesAdded: adds.reduce((sum, add) => sum + add.size, 0),
  };
}
