import pMap from "p-map";
import { LakeError } from "../../core/errors.js";
import { type Clock, DAY_MS } from "../../core/time.js";
import type { TableSchema } from "../../schema/column.js";
import type { Lake } from "../lake.js";
import type { LakePlaces } from "../local/work-folder.js";
import { listLog } from "../log/log-files.js";
import { isOfLog } from "../log/read-log.js";
import type { Snapshot } from "../log/snapshot.js";
import type { StoredFile } from "../storage/storage.js";
import { deleteEntries, expiredEntries } from "./shorten-log.js";

/** Longest time that a writer may take between writing a file and committing it. */
const WRITING_MS = DAY_MS;

/** Which files may be deleted. */
export interface VacuumOptions {
  /** Versions that were the newest at any time within this period before `now` remain readable; in milliseconds. */
  readonly retentionMs: number;
  /** Epoch milliseconds, from {@link vacuumTime}. */
  readonly now: number;
  /** Reports what would be deleted, and deletes nothing. @default false */
  readonly dryRun?: boolean;
}

/** What a vacuum did to a table. */
export interface VacuumReport {
  readonly table: string;
  /** Files that were deleted, or would be; relative to the table. */
  readonly deleted: readonly StoredFile[];
  /** Number of files that only older versions have, and that remain until their retention ends. */
  readonly kept: number;
  /** Number of entries of the log that were deleted, or would be. */
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
