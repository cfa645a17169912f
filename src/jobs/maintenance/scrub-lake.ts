import { LakeError } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import { recordVerified, verifiedFiles } from "../../lake/files/verify/verified-files.js";
import { damageOf } from "../../lake/files/verify/verify-content.js";
import type { Lake } from "../../lake/lake.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { isStoreFault } from "../../lake/storage/store-fault.js";
import { planScrub, type ScrubbableFile } from "../../plan/scrub.js";
import { TABLES } from "../../schema/tables.js";
import { type DailyWork, dailyWork, lastDoneAt, recordDone } from "./daily-work.js";

/** Options for verifying a part of a lake. */
export interface ScrubOptions {
  /** Ends the work, also while a file is read. */
  readonly signal?: AbortSignal;
  /**
   * Called before each file is read. `total` is the number of all files that are due; most nights read only a part of
   * them.
   */
  readonly onProgress?: (progress: { table: string; file: string; done: number; total: number }) => void;
}

/** What was read of a lake, and the faults that were found. */
export interface ScrubReport {
  /** Number of files and bytes that were read. */
  readonly files: number;
  readonly bytes: number;
  /** Files that are missing or differ from what was written, and tables that cannot be read: one sentence each. */
  readonly damaged: readonly string[];
  /**
   * The time of the verification of the file that was verified longest ago, in epoch milliseconds; undefined for an
   * empty lake.
   */
  readonly verifiedSince: number | undefined;
}

/** The path of the file that states when a part of the lake was last read. */
const LAST = "verified/last-scrub.json";

/** Verifies a lake in daily parts. After a failure, the next part is due in an hour. */
export function dailyScrub(lake: Lake, clock: Pick<Clock, "now">): DailyWork<ScrubReport> {
  return dailyWork(lake, LAST, clock, (signal) => scrubLake(lake, { signal }, clock));
}

/** So many files that a store does not give end a scrub: it reads them again soon. */
const MOST_FAULTS = 3;

interface LakeFile extends ScrubbableFile {
  readonly snapshot: Snapshot;
  readonly file: DataFile;
}

/**
 * Reads the part of a lake that was verified longest ago, and compares each file with the hash in its name. If it runs
 * once a day, every file is read within four weeks.
 */
export async function scrubLake(
  lake: Lake,
  { signal, onProgress }: ScrubOptions,
  clock: Pick<Clock, "now">,
): Promise<ScrubReport> {
  const now = clock.now();
  const { files: all, damaged } = await filesOf(lake, now);
  const due = planScrub(all, now, await lastDoneAt(lake.storage, LAST, now));
  const sound = new Map<Snapshot, DataFile[]>();
  let [files, bytes, soundBytes] = [0, 0, 0];
  const faults: unknown[] = [];
  for (const { snapshot, file } of due.files) {
    if (signal?.aborted || soundBytes >= due.bytes) break;
    onProgress?.({ table: snapshot.table.name, file: file.path, done: files, total: due.files.length });
    const damage = await unlessAborted(damageOf(lake, snapshot, file, signal), signal);
    if (damage === "aborted") break;
    // A store that is not well says nothing about the file: it is read again when the scrub is due, which is soon.
    if (damage?.kind === "unreadable" && isStoreFault(damage.cause)) {
      faults.push(damage.cause);
      if (faults.length === MOST_FAULTS) break;
      continue;
    }
    files += 1;
    bytes += file.size;
    if (damage === undefined) {
      sound.set(snapshot, [...(sound.get(snapshot) ?? []), file]);
      soundBytes += file.size;
    }
    // A file that was replaced and vacuumed after the log was read is not damaged.
    else if ((await lake.snapshot(snapshot.table)).files.has(file.path))
      damaged.push(`table ${snapshot.table.name}: ${file.path} ${damage.what}`);
  }
  try {
    for (const [snapshot, own] of sound) await recordVerified(lake.storage, snapshot, own, now);
    if (faults.length === 0 && !signal?.aborted && all.length > 0) await recordDone(lake.storage, LAST, now);
  } catch (error) {
    // Damage is reported even if the record cannot be written, for example because the disk is full.
    if (damaged.length === 0) throw error;
  }
  if (faults.length > 0 && damaged.length === 0) throw faults[0];
  const read = new Set([...sound.values()].flat());
  const verifiedSince = all.length === 0 ? undefined : oldest(all, read, now);
  return { files, bytes, damaged, verifiedSince };
}

/** The result of work; `aborted` where the signal ended it. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T | "aborted"> {
  try {
    return await work;
  } catch (error) {
    if (signal?.aborted) return "aborted";
    throw error;
  }
}

/** All live files, with the time of their last verification; tables that cannot be read are reported as damaged. */
async function filesOf(lake: Lake, now: number): Promise<{ files: LakeFile[]; damaged: string[] }> {
  const files: LakeFile[] = [];
  const damaged: string[] = [];
  for (const table of TABLES) {
    try {
      const snapshot = await lake.snapshot(table);
      for (const [file, verifiedAt] of await verifiedFiles(lake.storage, snapshot, now))
        files.push({ snapshot, file, bytes: file.size, verifiedAt });
    } catch (error) {
      // A store that is not well, or refuses, says nothing about the table.
      if (!(error instanceof LakeError) || isStoreFault(error)) throw error;
      damaged.push(error.message);
    }
  }
  return { files, damaged };
}

function oldest(all: readonly LakeFile[], read: ReadonlySet<DataFile>, now: number): number {
  return all.reduce((least, { file, verifiedAt }) => Math.min(least, read.has(file) ? now : verifiedAt), now);
}
