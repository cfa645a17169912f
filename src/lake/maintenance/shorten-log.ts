import { LakeError } from "../../core/errors.js";
import { DAY_MS, MINUTE_MS } from "../../core/time.js";
import { readCheckpoint } from "../log/checkpoint.js";
import type { MetaData } from "../log/delta-actions.js";
import { type CheckpointFiles, listLog, logEntries } from "../log/log-files.js";
import { readCommit, readLog } from "../log/read-log.js";
import { commitTime, Draft, emptySnapshot, type Snapshot } from "../log/snapshot.js";
import type { Storage } from "../storage/storage.js";
import { isStoreFault } from "../storage/store-fault.js";
import { checkpointDifference } from "./check/checkpoint-difference.js";

/** How long Delta keeps the log of versions, unless a table's configuration says so otherwise. */
const LOG_RETENTION_MS = 30 * DAY_MS;
/** The table's own retention, as `interval 30 days`. */
const RETENTION_KEY = "delta.logRetentionDuration";
/** Whether old entries may be deleted at all. */
const CLEANUP_KEY = "delta.enableExpiredLogCleanup";

const UNIT_MS: Readonly<Record<string, number>> = {
  week: 7 * DAY_MS,
  day: DAY_MS,
  hour: 60 * MINUTE_MS,
  minute: MINUTE_MS,
  second: 1000,
};

/** Which entries of a log may be deleted. */
export interface LogRetention {
  /** Versions that were the newest at any time within this period before `now` remain in the log; in milliseconds. */
  readonly retentionMs: number;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * The entries of a table's log that may be deleted, by the protocol's rule (section "Metadata Cleanup"): those before
 * the newest checkpoint that is as old as the retention of versions, and as that of the table's configuration (30 days).
 * The checkpoint and its commit remain. A checkpoint counts only if it is what the commits before it come to.
 *
 * @returns their paths, relative to the lake, in the order in which they are to be deleted.
 */
export async function expiredEntries(
  storage: Storage,
  { table, metaData }: Snapshot,
  { now, retentionMs }: LogRetention,
): Promise<readonly string[]> {
  const ownMs = logRetentionOf(metaData);
  if (ownMs === undefined) return [];
  const { commits, checkpoints } = await listLog(storage, table.name);
  const until = now - Math.max(retentionMs, ownMs);
  for (const checkpoint of checkpoints.toReversed()) {
    const commit = await readCommit(storage, table.name, checkpoint.version);
    const committedAt = commit && commitTime(commit);
    if (committedAt === undefined || committedAt > until) continue;
    if (Math.min(commits[0] ?? 0, checkpoints[0]?.version ?? 0) === checkpoint.version) return [];
    if (!(await isSound(storage, table, checkpoint))) continue;
    return await logEntries(storage, table.name, checkpoint.version);
  }
  return [];
}

/** The retention of a table's configuration, in milliseconds; undefined where no entry may be deleted. */
function logRetentionOf(metaData: MetaData | undefined): number | undefined {
  const { [RETENTION_KEY]: own, [CLEANUP_KEY]: cleanup } = metaData?.configuration ?? {};
  if (cleanup?.toLowerCase() === "false") return undefined;
  if (own === undefined) return LOG_RETENTION_MS;
  const parts = /^\s*(?:interval\s+)?((?:\d+\s+(?:week|day|hour|minute|second)s?\s*)+)$/i.exec(own)?.[1];
  // What is not understood may be longer than any time.
  if (parts === undefined) return undefined;
  let sum = 0;
  for (const [, n, unit = ""] of parts.matchAll(/(\d+)\s+([a-z]+?)s?(?=\s|$)/gi))
    sum += Number(n) * (UNIT_MS[unit.toLowerCase()] as number);
  return sum;
}

/** Whether a checkpoint is readable, and is what the log before it comes to. */
async function isSound(
  storage: Storage,
  table: Snapshot["table"],
  checkpoint: CheckpointFiles,
): Promise<boolean> {
  const { version } = checkpoint;
  try {
    const draft = new Draft(emptySnapshot(table));
    draft.apply(await readCheckpoint(storage, table.name, checkpoint));
    const log = await readLog(storage, emptySnapshot(table), { version, whole: true });
    return log.version === version && checkpointDifference(log, draft.finish()) === undefined;
  } catch (error) {
    if (!(error instanceof LakeError) || isStoreFault(error)) throw error;
    return false;
  }
}

/**
 * Deletes entries of a log, in their order. If it is ended before it is done, every version from the checkpoint on can be
 * read, and the next call deletes the rest.
 *
 * @param paths from {@link expiredEntries}.
 */
export async function deleteEntries(storage: Storage, paths: readonly string[]): Promise<void> {
  // A log that has its first commit would be read from there: that one goes before any gap comes up. Then the checkpoints,
  // from which entries that are gone would be needed; the others in their order, so that no gap is among those that remain.
  const isFirst = (path: string): boolean => /\/0{20}\.json$/.test(path) || path.endsWith(".parquet");
  for (const path of paths.filter(isFirst)) await storage.delete(path);
  for (const path of paths.filter((one) => !isFirst(one))) await storage.delete(path);
}
