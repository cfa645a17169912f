import { randomInt } from "node:crypto";
import { CommitConflict } from "../../core/errors.js";
import type { TableSchema } from "../../schema/column.js";
import type { Lake } from "../lake.js";
import type { LakePlaces } from "../local/work-folder.js";
import type { Storage } from "../storage/storage.js";
import { CHECKPOINT_INTERVAL, writeCheckpoint } from "./checkpoint.js";
import { commitInfoAction, schemaActions, txnAction } from "./commit-actions.js";
import { type Action, checkWritable } from "./delta-actions.js";
import { expectUnfenced, type Fence, fenceName } from "./fence.js";
import { commitFile, hasAllBehind, listLog } from "./log-files.js";
import { isOfLog, noteRead, readLog } from "./read-log.js";
import {
  Draft,
  dataFileOf,
  decodePath,
  emptySnapshot,
  isReadOn,
  isUndone,
  type Snapshot,
  textDigest,
} from "./snapshot.js";

/** Most attempts at one commit, if other writers take the versions. Each attempt takes about a millisecond. */
const MAX_VERSIONS = 1000;

/** Actions to commit, if the commits of other writers permit it. */
interface PendingCommit {
  readonly actions: readonly Action[];
  /**
   * Whether the actions, which were made for an older version, may also follow a newer one of the same history and with
   * the same metadata.
   */
  readonly stillHolds: (newest: Snapshot) => boolean;
  /** Epoch milliseconds. */
  readonly now: number;
  /** The right to commit, which is confirmed before each attempt. @default no right is needed */
  readonly fence?: Fence | undefined;
}

/**
 * Commits at the next free version, after other writers' commits since `base`, as long as these do not conflict. Data
 * files are not written again.
 *
 * @returns the table afterwards, or undefined where another commit conflicts, or the table was replaced by one with
 *   another history: then nothing was committed.
 * @throws {CommitConflict} when other writers were first at every attempt, and {FencedError} where the right to commit
 *   was taken over. Then nothing was committed.
 */
export async function commitWithRetries(
  lake: Lake,
  base: Snapshot,
  { actions, stillHolds, now, fence }: PendingCommit,
): Promise<Snapshot | undefined> {
  let newest = base;
  for (let attempt = 1; attempt <= MAX_VERSIONS; attempt++) {
    if (fence !== undefined) await expectUnfenced(newest, fence);
    if (!(await hasFiles(lake, newest, actions, attempt))) return undefined;
    const after = await commit(lake, newest, actions, now);
    if (after !== undefined) {
      lake.remember(after);
      return after;
    }
    newest = await lake.snapshot(base.table);
    if (!isReadOn(base, newest) || !stillHolds(newest)) return undefined;
  }
  throw tooManyWriters(base, MAX_VERSIONS);
}

/**
 * Whether the data files of a commit are still there. They are not where the lake was replaced after they were written: by
 * a folder with the same log, too. A store, where each look costs a request, is asked after a conflict only.
 */
async function hasFiles(
  lake: Lake,
  base: Snapshot,
  actions: readonly Action[],
  attempt: number,
): Promise<boolean> {
  const first = actions.find((action) => "add" in action);
  if (first === undefined || (attempt === 1 && lake.storage.access !== undefined)) return true;
  return (await lake.factsOf(base, dataFileOf(base.table, first.add))) !== undefined;
}

function tooManyWriters({ table }: Snapshot, times: number): CommitConflict {
  return new CommitConflict(`table ${table.name}: another writer committed first, ${times} times`, {
    hint: "run the command again once the other writers are done",
  });
}

/**
 * Commits actions as the version after `base`, dated no earlier than `base`, and writes a checkpoint every
 * {@link CHECKPOINT_INTERVAL} commits.
 *
 * @param now epoch milliseconds.
 * @returns the table afterwards, or undefined where another writer has taken that version, or the table has another
 *   history than `base` now: then nothing was committed.
 * @throws {LakeError} for a table whose own rules forbid the commit, or have a form that this version cannot check.
 */
export async function commit(
  places: LakePlaces,
  base: Snapshot,
  undated: readonly Action[],
  now: number,
): Promise<Snapshot | undefined> {
  const { storage } = places;
  const actions = inOrderOfTime(base, undated);
  const { name } = base.table;
  checkWritable(name, base.metaData, actions);
  const version = base.version + 1;
  const log = await listLog(storage, name, base.version);
  if (log.newest !== base.version || !(await isOfLog(storage, base, log))) return undefined;
  const text = actions.map((action) => `${JSON.stringify(action)}\n`).join("");
  const done = await storage.putIfAbsent(commitFile(name, version), text);
  if (!done) return undefined;
  const draft = new Draft(base);
  draft.apply({ version, actions, digest: textDigest(text) });
  const after = draft.finish();
  if (!(await isInLog(storage, after, actions))) return undefined;
  // A failed checkpoint does not affect the commit: the log is complete without it.
  if (version > 0 && version % CHECKPOINT_INTERVAL === 0)
    await checkpoint(places, after, now).catch(() => undefined);
  return after;
}

/** Writes the checkpoint of a commit from the log, as every other reader sees it. */
async function checkpoint(
  places: LakePlaces,
  { table, version, commitId }: Snapshot,
  now: number,
): Promise<void> {
  const read = await readLog(places.storage, emptySnapshot(table), { version });
  if (read.commitId === commitId) await writeCheckpoint(places, read, now);
}

/**
 * The actions of a commit, dated no earlier than the commit before. The clocks of machines differ, and a later commit
 * or checkpoint must not change what is read as of an earlier time.
 */
function inOrderOfTime({ committedAt }: Snapshot, actions: readonly Action[]): readonly Action[] {
  return actions.map((action) => {
    if (!("commitInfo" in action) || committedAt === undefined) return action;
    const { commitInfo } = action;
    return { commitInfo: { ...commitInfo, timestamp: Math.max(commitInfo.timestamp, committedAt) } };
  });
}

/**
 * Whether a written commit is part of its table's log. It is not where other writers got far ahead between the list of
 * the log and the commit (the machine slept, for example) and deleted the commits before it. No reader sees such a
 * commit, so it is deleted.
 */
async function isInLog(storage: Storage, after: Snapshot, actions: readonly Action[]): Promise<boolean> {
  const { table, version } = after;
  const log = await listLog(storage, table.name, version);
  if (hasAllBehind(log, version)) {
    if (log.newest === version) noteRead(log, after);
    return true;
  }
  const now = await readLog(storage, emptySnapshot(table));
  const isKnown = actions.every((action) => {
    if ("txn" in action) return now.txns.has(action.txn.appId) !== isUndone(action.txn);
    if ("remove" in action) return !now.files.has(decodePath(action.remove.path));
    if (!("add" in action)) return true;
    const path = decodePath(action.add.path);
    return now.files.has(path) || now.removed.has(path);
  });
  if (!isKnown) await storage.delete(commitFile(table.name, version));
  return isKnown;
}

/** Most attempts, if other writers change what each of them was made for. */
const MAX_TRIES = 40;
/**
 * Longest wait, in milliseconds, before the next attempt. Waits are random, so that two writers do not collide
 * repeatedly.
 */
const MAX_WAIT_MS = 250;

/**
 * Changes a table at its newest version, again as long as a commit of another writer conflicts.
 *
 * @param change makes one attempt. It returns undefined where another commit conflicts, and then has committed nothing.
 * @returns what the first attempt without a conflict returns.
 * @throws {CommitConflict} when other writers were first at every attempt. Then nothing was committed.
 */
export async function retryOnConflict<Result extends object | number>(
  lake: Lake,
  table: TableSchema,
  change: (base: Snapshot) => Promise<Result | undefined>,
): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    const base = await lake.snapshot(table);
    const result = await change(base);
    if (result !== undefined) return result;
    if (attempt === MAX_TRIES) throw tooManyWriters(base, MAX_TRIES);
    await lake.clock.sleep(randomInt(1, Math.min(MAX_WAIT_MS, 4 * 2 ** attempt)));
  }
}

/**
 * Prevents all later commits of a former holder to a table.
 *
 * @param now epoch milliseconds.
 * @throws {LakeError} where the commit that does this cannot be made.
 */
export async function fenceOff(
  lake: Lake,
  table: TableSchema,
  former: { readonly id: string; readonly runId: string },
  now: number,
): Promise<void> {
  for (;;) {
    const base = await lake.snapshot(table);
    if (base.txns.has(fenceName(former.id))) return;
    const actions = [
      commitInfoAction({ operation: "FENCE", runId: former.runId, now }, {}),
      ...(base.version < 0 ? schemaActions(base, base.columns, now) : []),
      txnAction(fenceName(former.id), now),
    ];
    if ((await commitWithRetries(lake, base, { actions, stillHolds: () => true, now })) !== undefined) return;
  }
}
