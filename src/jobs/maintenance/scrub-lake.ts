import { millisecondsInHour as HOUR_MS } from "date-fns/constants";
import { z } from "zod";
import { LakeError } from "../../core/errors.js";
import { type Clock, DAY_MS } from "../../core/time.js";
import { damageOf, recordVerified, verifiedFiles } from "../../lake/files/verify-content.js";
import type { Lake } from "../../lake/lake.js";
import type { DataFile, Snapshot } from "../../lake/log/snapshot.js";
import { isStoreFault } from "../../lake/storage/store-fault.js";
import { TABLES } from "../../schema/tables.js";

/** Work on a lake that is due once a day, whichever machine does it. */
export interface DailyWork<Report> {
  /** When it is due next, in epoch milliseconds. */
  dueAt(): Promise<number>;
  run(signal: AbortSignal): Promise<Report>;
}

const lastDone = z.object({ at: z.iso.datetime() });

/**
 * Work that is due a day after it was last done, and an hour after an attempt that failed.
 *
 * @param file the file of the lake that states when it was last done; the work writes it with {@link recordDone}.
 */
export function dailyWork<Report>(
  { storage }: Lake,
  file: string,
  clock: Pick<Clock, "now">,
  work: (signal: AbortSignal) => Promise<Report>,
): DailyWork<Report> {
  let notBefore = 0;
  return {
    async dueAt() {
      const now = clock.now();
      // A later time was set while the clock was ahead.
      const retryAt = notBefore > now + HOUR_MS ? 0 : notBefore;
      const last = await lastDoneAt(storage, file, now);
      return Math.max(retryAt, last === undefined ? 0 : last + DAY_MS);
    },
    run(signal) {
      notBefore = clock.now() + HOUR_MS;
      return work(signal);
    },
  };
}

/** When work was last done; undefined where this is unknown, or is later than now because the clock was ahead. */
async function lastDoneAt(storage: Lake["storage"], file: string, now: number): Promise<number | undefined> {
  try {
    const at = Date.parse(lastDone.parse(JSON.parse((await storage.readText(file)) ?? "")).at);
    return at <= now ? at : undefined;
  } catch {
    return undefined;
  }
}

/** Records that work was done. @param now epoch milliseconds. */
export async function recordDone(storage: Lake["storage"], file: string, now: number): Promise<void> {
  await storage.put(file, `${JSON.stringify({ at: new Date(now).toISOString() })}\n`);
}

/** Number of nights in which the whole lake is read once. */
const NIGHTS = 21;
/** Days during which a file is not read again. Together with the nights above, each file is read every four weeks. */
const REST_DAYS = 7;

export interface ScrubbableFile {
  readonly bytes: number;
  /** When it was last verified, in epoch milliseconds. */
  readonly verifiedAt: number;
}

/**
 * The verification of one night: `files` are read one after the other, until files with `bytes` bytes in total were
 * found intact.
 */
interface ScrubPlan<File> {
  /** All files that are due, the least recently verified first. */
  readonly files: readonly File[];
  readonly bytes: number;
}

/**
 * Plans the verification of a night: as many bytes as are needed to read the whole lake in three weeks, beginning with
 * the least recently verified files. A damaged file does not count as read. It remains due; if its bytes counted, files
 * after it would never be read.
 *
 * @param now epoch milliseconds.
 * @param lastAt when a part was last read, in epoch milliseconds: a plan after missed nights reads correspondingly
 *   more.
 */
export function planScrub<File extends ScrubbableFile>(
  files: readonly File[],
  now: number,
  lastAt: number | undefined,
): ScrubPlan<File> {
  const nights =
    lastAt === undefined ? 1 : Math.min(NIGHTS, Math.max(1, Math.round((now - lastAt) / DAY_MS)));
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  const due = files.filter(({ verifiedAt }) => verifiedAt <= now - REST_DAYS * DAY_MS);
  return { files: due.sort((a, b) => a.verifiedAt - b.verifiedAt), bytes: (total * nights) / NIGHTS };
}

interface ScrubOptions {
  /** Ends the work, also while a file is read. */
  readonly signal?: AbortSignal;
  /**
   * Called before each file is read. `total` is the number of all files that are due; most nights read only a part of
   * them.
   */
  readonly onProgress?: (progress: { table: string; file: string; done: number; total: number }) => void;
}

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
