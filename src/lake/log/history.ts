import type { TableSchema } from "../../schema/column.js";
import type { Storage } from "../storage/storage.js";
import type { CommitInfo } from "./delta-actions.js";
import { listLog } from "./log-files.js";
import { commitsUpTo } from "./read-log.js";
import { type Commit, commitTime } from "./snapshot.js";

/** The operation that gives a table the content of an earlier version again, in Delta's word. */
export const RESTORE = "RESTORE";

/** A version of a table, and the commit that made it. */
export interface HistoryEntry {
  readonly version: number;
  /** Epoch milliseconds; undefined where the commit does not say. */
  readonly committedAt: number | undefined;
  /** What was done: IMPORT, INGEST, SIMULATE, OPTIMIZE, REPAIR, WITHDRAW, RESTORE, FENCE, or another writer's term. */
  readonly operation: string | undefined;
  /** The version whose content a RESTORE gave the table again; -1: none, so that it is empty. */
  readonly restoredTo?: number | undefined;
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

/** Commits that are read together. */
const BLOCK = 8;

/**
 * The commits of whose changes a version still has something, newest first. Behind a restore comes the version that it
 * restored: what was committed between them is undone. It ends where the log begins.
 *
 * @param version a version after the newest one means the newest one.
 */
export async function* effectiveHistory(
  storage: Storage,
  table: TableSchema,
  version: number,
): AsyncGenerator<HistoryEntry> {
  const { commits } = await listLog(storage, table.name);
  const oldest = commits[0] ?? Number.POSITIVE_INFINITY;
  for (let newest = Math.min(version, commits.at(-1) ?? -1); newest >= oldest; ) {
    const block: HistoryEntry[] = [];
    for await (const commit of commitsUpTo(storage, table.name, Math.max(oldest, newest - BLOCK + 1), newest))
      block.push(entryOf(commit));
    newest -= BLOCK;
    for (const entry of block.toReversed()) {
      yield entry;
      if (entry.restoredTo === undefined || entry.restoredTo >= entry.version) continue;
      newest = entry.restoredTo;
      break;
    }
  }
}

/** The version that a RESTORE names; undefined for one of another program that names a time. */
function restoredVersion({ operationParameters }: CommitInfo): number | undefined {
  const version = operationParameters?.version;
  return version !== undefined && /^-?\d+$/.test(version) ? Number(version) : undefined;
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
    restoredTo: info?.operation === RESTORE ? restoredVersion(info) : undefined,
    runId: info?.operationParameters?.runId,
    engine: info?.engineInfo,
    inserted: metric("numInsertedRows"),
    updated: metric("numUpdatedRows"),
    filesAdded: adds.length,
    filesRemoved: commit.actions.filter((action) => "remove" in action).length,
    bytesAdded: adds.reduce((sum, add) => sum + add.size, 0),
  };
}
