import { BarlakeError, LakeError, messageOf } from "../../core/errors.js";
import type { TableSchema } from "../../schema/column.js";
import type { Storage } from "../storage/storage.js";
import { readCheckpoint } from "./checkpoint.js";
import { parseActions } from "./delta-actions.js";
import {
  commitFile,
  hasAllBehind,
  isLogEmpty,
  type LogFiles,
  lastCheckpointVersion,
  listLog,
  MissingEntry,
  RESTORE_HINT,
  VersionGone,
} from "./log-files.js";
import {
  type Commit,
  commitIdOf,
  commitTime,
  Draft,
  emptySnapshot,
  type Snapshot,
  textDigest,
} from "./snapshot.js";

interface LogRange {
  /** The newest version to read. @default the newest there is */
  readonly version?: number | undefined;
  /** Reads only what was committed at or before this time, in epoch milliseconds. */
  readonly asOf?: number | undefined;
  /**
   * Reads every commit, or those after the oldest checkpoint where the first ones were deleted. Reading from the newest
   * checkpoint is faster, but a checkpoint leaves out files removed long ago. @default false
   */
  readonly whole?: boolean;
  /**
   * Whether the log had no entry when it was read before: it is then listed first, and nothing else is read where it is
   * still empty. @default false
   */
  readonly wasEmpty?: boolean;
  /** Called where the log has another history than `known`, or ends before it, so that it is read from its start. */
  readonly onReplaced?: () => void;
}

/** Most attempts to list and read a log that another program cleans up at the same time. */
const MAX_LISTS = 3;

/**
 * Reads a table's log from the version of `known` to its end, or to the end of the range. Where it cannot continue from
 * `known`, it starts from the newest usable checkpoint. That is so, too, where the log was replaced by one with another
 * history, such as a backup: nothing that is known counts then.
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
  const { table } = known;
  if (range.wasEmpty === true && (await isLogEmpty(storage, table.name))) return known;
  const continued = known.version < 0 ? undefined : await readOn(storage, known, range);
  if (continued !== undefined) return continued;
  // The file is read before the log is listed: the version that it names existed already, so the list must contain it.
  const named = await lastCheckpointVersion(storage, table.name);
  const isNewest = range.version === undefined && range.asOf === undefined && range.whole !== true;
  if (isNewest && named > 0) {
    const end = await listLog(storage, table.name, named);
    try {
      if (end.newest >= named) return await readFromStart(storage, table, range, end);
    } catch (error) {
      // The entries before `named` may be needed, for example another checkpoint.
      if (!(error instanceof LakeError)) throw error;
    }
  }
  const log = await listLog(storage, table.name);
  if (log.newest < named)
    throw lostLog(table.name, `ends with version ${log.newest}, and had version ${named}`);
  return await readFromStart(storage, table, range, log);
}

/** Reads what follows `known`. @returns undefined where the log has another history, or lacks commits after `known`. */
async function readOn(storage: Storage, known: Snapshot, range: LogRange): Promise<Snapshot | undefined> {
  const { name } = known.table;
  const log = await listLog(storage, name, known.version);
  if (log.newest < 0 && (await listLog(storage, name)).newest < 0)
    throw lostLog(
      name,
      `is gone, which had version ${known.version}`,
      "; if the lake was replaced by one without the table, start this process again",
    );
  if (log.newest < known.version) range.onReplaced?.();
  if (!hasAllBehind(log, known.version)) return undefined;
  const read = await apply(storage, new Draft(known), log, range);
  // Compared after the other commits were read: all of them are of the history that has this commit now.
  if (!(await isOfLog(storage, known, log))) {
    if (log.commits.includes(known.version)) range.onReplaced?.();
    return undefined;
  }
  const newest = read.version === known.version ? known : read;
  noteRead(log, newest);
  return newest;
}

async function readFromStart(
  storage: Storage,
  table: TableSchema,
  range: LogRange,
  log: LogFiles,
): Promise<Snapshot> {
  const draft = new Draft(emptySnapshot(table));
  const start = await startOf(storage, table.name, log, range);
  if (start !== undefined) draft.apply(start);
  const first = start?.version ?? 0;
  // A folder can be replaced at once, while its log is read: the entries then are of two histories. A store cannot.
  const firstDigest = async (): Promise<string | undefined> =>
    storage.access === undefined && log.commits.includes(first)
      ? (await readCommit(storage, table.name, first))?.digest
      : undefined;
  const before = start?.digest ?? (await firstDigest());
  const read = await apply(storage, draft, log, range);
  if (storage.access === undefined && (await firstDigest()) !== before)
    throw new MissingEntry(table.name, first);
  noteRead(log, read);
  return read;
}

async function apply(storage: Storage, draft: Draft, log: LogFiles, range: LogRange): Promise<Snapshot> {
  const end = Math.min(log.newest, range.version ?? log.newest);
  for await (const next of commitsUpTo(storage, draft.table.name, draft.version + 1, end)) {
    if (!isWithin(next, range)) break;
    draft.apply(next);
  }
  return draft.finish();
}

/** The commit with which each list of a log was last found to agree. */
const AGREEING = new WeakMap<LogFiles, string>();

export function noteRead(log: LogFiles, { commitId }: Snapshot): void {
  AGREEING.set(log, commitId);
}

/**
 * Whether a log still has the newest commit of a snapshot. Nothing is read where the list of the log is the one from
 * which the snapshot was read.
 */
export async function isOfLog(storage: Storage, snapshot: Snapshot, log: LogFiles): Promise<boolean> {
  const { table, version, metaData, commitId } = snapshot;
  if (version < 0) return log.newest < 0;
  if (AGREEING.get(log) === commitId) return true;
  const found = log.commits.includes(version) ? await readCommit(storage, table.name, version) : undefined;
  if (commitIdOf(version, found?.digest, metaData) !== commitId) return false;
  noteRead(log, snapshot);
  return true;
}

function lostLog(table: string, what: string, other = ""): LakeError {
  return new LakeError(`table ${table}: its log ${what}`, {
    hint: `restore ${table}/_delta_log from a backup; barlake check shows more${other}`,
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
  for (const checkpoint of !range.whole ? checkpoints.toReversed() : isWhole ? [] : checkpoints) {
    if (checkpoint.version > last || !(await wasCommittedBy(storage, table, checkpoint.version, range.asOf)))
      continue;
    try {
      const { version, actions } = await readCheckpoint(storage, table, checkpoint);
      const one = await readCommit(storage, table, version);
      const info = one?.actions.filter((action) => "commitInfo" in action) ?? [];
      return { version, actions: [...actions, ...info], digest: one?.digest };
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

/** Reads one commit of a table's log; undefined where there is none. @throws {LakeError} when it is not readable. */
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
    return { version, actions: parseActions(text), digest: textDigest(text) };
  } catch (cause) {
    throw unreadable(cause);
  }
}
