import { BarlakeError, LakeError, messageOf } from "../../core/errors.js";
import type { Storage } from "../storage/storage.js";
import { readCheckpoint } from "./checkpoint.js";
import {
  commitFile,
  hasAllBehind,
  isLogEmpty,
  type LogFiles,
  lastCheckpointVersion,
  listLog,
  MissingEntry,
  RESTORE_HINT,
} from "./log-files.js";
import { parseActions } from "./parse-actions.js";
import { type Commit, commitTime, Draft, emptySnapshot, type Snapshot } from "./snapshot.js";
import { VersionGone } from "./version-gone.js";

/** Which part of a log is read. */
export interface LogRange {
  /** The newest version to read. @default the newest there is */
  readonly version?: number | undefined;
  /** Reads only what was committed at or before this time, in epoch milliseconds. */
  readonly asOf?: number | undefined;
  /**
   * Reads every commit. Reading from a checkpoint is faster, but a checkpoint leaves out files removed long ago.
   * @default false
   */
  readonly whole?: boolean;
  /**
   * Whether the log had no entry when it was read before: it is then listed first, and nothing else is read where it is
   * still empty. @default false
   */
  readonly wasEmpty?: boolean;
}

/** Most attempts to list and read a log that another program cleans up at the same time. */
const MAX_LISTS = 3;

/**
 * Reads a table's log from the version of `known` to its end, or to the end of the range. Where it cannot continue from
 * `known`, it starts from the newest usable checkpoint.
 *
 * The log is always listed. Another program may have committed, written a checkpoint and deleted the commits after
 * `known`: if the next commit is missing, `known` need not be the newest version.
 *
 * @throws {LakeError} when an entry is missing or not readable, or needs features that this version does not support.
 */
export async function readLog(storage: Storage, known: Snapshot, range: LogRange = {}): Promise<Snapshot> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readListed(storage, known, range);
    } catch (error) {
      if (!(error instanceof MissingEntry) || attempt === MAX_LISTS) throw error;
    }
  }
}

async function readListed(storage: Storage, known: Snapshot, range: LogRange): Promise<Snapshot> {
  const { name } = known.table;
  if (range.wasEmpty === true && (await isLogEmpty(storage, name))) return known;
  // The file is read before the log is listed: the version that it names existed already, so the list must contain it.
  const named = known.version < 0 ? await lastCheckpointVersion(storage, name) : -1;
  const since = Math.max(known.version, named);
  const isNewest = range.version === undefined && range.asOf === undefined && range.whole !== true;
  if (isNewest && since > 0) {
    const end = await listLog(storage, name, since);
    try {
      if (end.newest >= since) return await readEntries(storage, known, range, end, named);
    } catch (error) {
      // The entries before `since` may be needed, for example another checkpoint.
      if (!(error instanceof LakeError)) throw error;
    }
  }
  return await readEntries(storage, known, range, await listLog(storage, name), named);
}

async function readEntries(
  storage: Storage,
  known: Snapshot,
  range: LogRange,
  log: LogFiles,
  named: number,
): Promise<Snapshot> {
  const { name } = known.table;
  if (log.newest < 0 && known.version >= 0)
    throw lostLog(name, `is gone, which had version ${known.version}`);
  if (log.newest < named) throw lostLog(name, `ends with version ${log.newest}, and had version ${named}`);
  const base = hasAllBehind(log, known.version) ? known : emptySnapshot(known.table);
  const draft = new Draft(base);
  let { version } = base;
  const start = version < 0 ? await startOf(storage, name, log, range) : undefined;
  if (start !== undefined) {
    draft.apply(start);
    version = start.version;
  }
  const end = Math.min(log.newest, range.version ?? log.newest);
  for await (const next of commitsUpTo(storage, name, version + 1, end)) {
    if (!isWithin(next, range)) break;
    draft.apply(next);
    ({ version } = next);
  }
  return version === base.version ? base : draft.finish();
}

function lostLog(table: string, what: string): LakeError {
  return new LakeError(`table ${table}: its log ${what}`, {
    hint: `restore ${table}/_delta_log from a backup; barlake check shows more`,
  });
}

/** Commits that are read at the same time: a request to a store takes many times as long as a small file. */
const READ_AHEAD = 8;

/** A table's commits of consecutive versions, oldest first. @throws {MissingEntry} {LakeError} */
export async function* commitsUpTo(
  storage: Storage,
  table: string,
  start: number,
  end: number,
): AsyncGenerator<Commit> {
  const reads: Promise<Commit | undefined>[] = [];
  for (let version = start; version <= end; version++) {
    while (reads.length < READ_AHEAD && version + reads.length <= end) {
      const read = readCommit(storage, table, version + reads.length);
      // All failures are handled here, but only the first one, in the order of the versions, is thrown.
      read.catch(() => {});
      reads.push(read);
    }
    const one = await reads.shift();
    if (one === undefined) throw new MissingEntry(table, version);
    yield one;
  }
}

/** The newest readable checkpoint within the range; undefined where the log is read from its first commit. */
async function startOf(
  storage: Storage,
  table: string,
  { commits, checkpoints }: LogFiles,
  range: LogRange,
): Promise<Commit | undefined> {
  if (commits.length === 0 && checkpoints.length === 0) return undefined;
  const isWhole = commits[0] === 0;
  const { version: last = Number.POSITIVE_INFINITY } = range;
  let unreadable: unknown;
  for (const checkpoint of isWhole && range.whole ? [] : checkpoints.toReversed()) {
    if (checkpoint.version > last || !(await wasCommittedBy(storage, table, checkpoint.version, range.asOf)))
      continue;
    try {
      const { version, actions } = await readCheckpoint(storage, table, checkpoint);
      const one = await readCommit(storage, table, version);
      return { version, actions: [...actions, ...(one?.actions.filter((a) => "commitInfo" in a) ?? [])] };
    } catch (error) {
      unreadable ??= error;
    }
  }
  if (isWhole) return undefined;
  throw (
    unreadable ??
    new VersionGone(
      `table ${table}: its log begins neither at version 0 nor with a checkpoint that is old enough`,
      {
        hint: `restore ${commitFile(table, 0)} and what follows from a backup`,
      },
    )
  );
}

async function wasCommittedBy(
  storage: Storage,
  table: string,
  version: number,
  asOf: number | undefined,
): Promise<boolean> {
  if (asOf === undefined) return true;
  const one = await readCommit(storage, table, version);
  return one !== undefined && isWithin(one, { asOf });
}

function isWithin(one: Commit, { version = one.version, asOf }: LogRange): boolean {
  if (one.version > version) return false;
  return asOf === undefined || (commitTime(one) ?? Number.NEGATIVE_INFINITY) <= asOf;
}

/**
 * Reads one commit of a table's log; undefined where there is none.
 *
 * @throws {LakeError} when it is not readable.
 */
export async function readCommit(
  storage: Storage,
  table: string,
  version: number,
): Promise<Commit | undefined> {
  const path = commitFile(table, version);
  const unreadable = (cause: unknown): LakeError =>
    new LakeError(`table ${table}: ${path} is not readable: ${messageOf(cause)}`, {
      hint: RESTORE_HINT,
      cause,
    });
  const text = await storage.readText(path).catch((error: unknown) => {
    // The error of a store already has a hint.
    const isFault =
      !(error instanceof BarlakeError) && typeof (error as NodeJS.ErrnoException).code === "string";
    throw isFault ? unreadable(error) : error;
  });
  if (text === undefined) return undefined;
  try {
    return { version, actions: parseActions(text) };
  } catch (cause) {
    throw unreadable(cause);
  }
}
