import { CommitConflict } from "../../core/errors.js";
import type { Lake } from "../lake.js";
import type { Action } from "./delta-actions.js";
import { commit } from "./delta-log.js";
import { expectUnfenced, type Fence } from "./fence.js";
import type { Snapshot } from "./snapshot.js";

/** Attempts at one commit while other writers take the versions: each costs a millisecond. */
const MAX_TRIES = 1000;

/** A commit that may follow commits of other writers. */
export interface PendingCommit {
  readonly actions: readonly Action[];
  /** Whether the actions are still right after a newer version than the one that they were made for. */
  readonly stillHolds: (newest: Snapshot) => boolean;
  /** Epoch milliseconds. */
  readonly now: number;
  /** The right to commit, which is confirmed before each attempt. @default it needs none */
  readonly fence?: Fence | undefined;
}

/**
 * Commits at the next free version, after other writers' commits since `base`, as long as these do not conflict. Data
 * files are not written again.
 *
 * @returns the table afterwards, or undefined where another commit conflicts: then nothing was committed.
 * @throws {CommitConflict} when other writers were first at every attempt, and {FencedError} where the right to commit
 *   was taken over. Then nothing was committed.
 */
export async function commitBehind(
  lake: Lake,
  base: Snapshot,
  { actions, stillHolds, now, fence }: PendingCommit,
): Promise<Snapshot | undefined> {
  let newest = base;
  for (let attempt = 1; attempt <= MAX_TRIES; attempt++) {
    if (fence !== undefined) await expectUnfenced(newest, fence);
    const after = await commit(lake, newest, actions, now);
    if (after !== undefined) {
      lake.remember(after);
      return after;
    }
    newest = await lake.snapshot(base.table);
    if (!stillHolds(newest)) return undefined;
  }
  throw tooManyWriters(base, MAX_TRIES);
}

/** The error for a commit at which other writers were first at every attempt. */
export function tooManyWriters({ table }: Snapshot, times: number): CommitConflict {
  return new CommitConflict(`table ${table.name}: another writer committed first, ${times} times`, {
    hint: "run the command again once the other writers are done",
  });
}
