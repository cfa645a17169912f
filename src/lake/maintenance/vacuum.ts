import pMap from "p-map";
import { LakeError } from "../../core/errors.js";
import { type Clock, DAY_MS, MINUTE_MS } from "../../core/time.js";
import type { TableSchema } from "../../schema/column.js";
import type { Lake } from "../lake.js";
import type { LakePlaces } from "../local/work-folder.js";
import { readCheckpoint } from "../log/checkpoint.js";
import type { MetaData } from "../log/delta-actions.js";
import { type CheckpointFiles, listLog, logEntries } from "../log/log-files.js";
import { isOfLog, readCommit, readLog } from "../log/read-log.js";
import { commitTime, Draft, emptySnapshot, type Snapshot } from "../log/snapshot.js";
import type { Storage, StoredFile } from "../storage/storage.js";
import { isStoreFault } from "../storage/store-fault.js";
import { checkpointDifference } from "./check/check-log.js";

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

interface LogRetention {
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
async function expiredEntries(
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
async function deleteEntries(storage: Storage, paths: readonly string[]): Promise<void> {
  // A log that has its first commit would be read from there: that one goes before any gap comes up. Then the checkpoints,
  // from which entries that are gone would be needed; the others in their order, so that no gap is among those that remain.
  const isFirst = (path: string): boolean => /\/0{20}\.json$/.test(path) || path.endsWith(".parquet");
  for (const path of paths.filter(isFirst)) await storage.delete(path);
  for (const path of paths.filter((one) => !isFirst(one))) await storage.delete(path);
}

/** Longest time that a writer may take between writing a file and committing it. */
const WRITING_MS = DAY_MS;

interface VacuumOptions {
  /** Versions that were the newest at any time within this period before `now` remain readable; in milliseconds. */
  readonly retentionMs: number;
  /** Epoch milliseconds, from {@link vacuumTime}. */
  readonly now: number;
  /** Reports what would be deleted, and deletes nothing. @default false */
  readonly dryRun?: boolean;
}

export interface VacuumReport {
  readonly table: string;
  /** Files that were deleted, or would be; relative to the table. */
  readonly deleted: readonly StoredFile[];
  /** Number of files that only older versions have, and that remain until their retention ends. */
  readonly kept: number;
  readonly logEntries: number;
}

/**
 * The current time for a vacuum, in epoch milliseconds: the earlier of this machine's time and the storage's, which
 * dates the files. With a clock that is a day ahead, a new file that a writer is about to commit would count as
 * abandoned.
 */
export async function vacuumTime({ storage, work }: LakePlaces, clock: Pick<Clock, "now">): Promise<number> {
  const times = [await storage.time(), await work.time()];
  return Math.min(clock.now(), ...times.filter((time) => time !== undefined));
}

/**
 * Deletes a table's data files that no retained version refers to, and then the entries of its log that no version of the
 * retention, and of Delta's retention of the log (30 days), needs. The newest version's files always remain. Files that are
 * in no version remain as long as a writer could still commit them.
 *
 * Versions that were replaced before the retention began can be listed as long as the log has them, but no longer read.
 *
 * @throws {LakeError} where the table is replaced meanwhile, as by a backup.
 */
export async function vacuum(lake: Lake, table: TableSchema, options: VacuumOptions): Promise<VacuumReport> {
  // Listed before the log is read: a file that is committed in between then counts as live.
  const stored = await lake.storage.walk(table.name);
  const snapshot = await lake.wholeSnapshot(table);
  const data = stored.filter(({ path }) => isDataFile(path));
  const deleted = data.filter((file) => isDead(snapshot, file, options));
  if (options.dryRun !== true) {
    for (let at = 0; at < deleted.length; at += FILES_AT_ONCE) {
      await expectSame(lake, snapshot);
      const files = deleted.slice(at, at + FILES_AT_ONCE);
      await pMap(files, ({ path }) => lake.storage.delete(`${table.name}/${path}`), { concurrency: 8 });
    }
  }
  const entries = await expiredEntries(lake.storage, snapshot, options);
  if (options.dryRun !== true && entries.length > 0) {
    await expectSame(lake, snapshot);
    await deleteEntries(lake.storage, entries);
  }
  const kept = data.filter(({ path }) => snapshot.removed.has(path)).length;
  const dead = deleted.filter(({ path }) => snapshot.removed.has(path)).length;
  return { table: table.name, deleted, kept: kept - dead, logEntries: entries.length };
}

/** Files that are deleted before it is seen again whether they are of this lake. */
const FILES_AT_ONCE = 1000;

/** @throws {LakeError} where the table was replaced: files that are dead in its former log may live in the other one. */
async function expectSame({ storage }: Lake, snapshot: Snapshot): Promise<void> {
  const { table, version } = snapshot;
  if (await isOfLog(storage, snapshot, await listLog(storage, table.name, version))) return;
  throw new LakeError(`table ${table.name}: was replaced, as by a backup, while its files were deleted`, {
    hint: "run barlake check, and barlake vacuum again",
  });
}

/**
 * Deletes staged files that killed processes left behind, a day after they were written at the earliest.
 *
 * @returns the files, relative to the staging folder.
 */
export async function vacuumStaging(
  { work }: LakePlaces,
  { now, dryRun }: Omit<VacuumOptions, "retentionMs">,
): Promise<StoredFile[]> {
  const old = (await work.unfinished()).filter((file) => file.modifiedAt < now - WRITING_MS);
  if (dryRun !== true) for (const { path } of old) await work.deleteUnfinished(path);
  return old;
}

function isDead(
  { files, removed }: Snapshot,
  file: StoredFile,
  { now, retentionMs }: VacuumOptions,
): boolean {
  if (files.has(file.path)) return false;
  const removedAt = removed.get(file.path)?.deletionTimestamp;
  if (removedAt !== undefined && removedAt !== null) return removedAt < now - retentionMs;
  return file.modifiedAt < now - Math.max(retentionMs, WRITING_MS);
}

/** Whether a path is a data file: in Delta, names that begin with an underscore or a dot are not data. */
export function isDataFile(path: string): boolean {
  return !path.split("/").some((part) => part.startsWith("_") || part.startsWith("."));
}
