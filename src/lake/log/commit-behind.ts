import { CommitConflict } from "../../core/errors.js";
import type { Lake } from "../lake.js";
import type { Action } from "./delta-actions.js";
import { commit } from "./delta-log.js";
import type { Snapshot } from "./snapshot.js";

/** Versions that other writers may take while one commit is under way: each look costs a millisecond. */
const MAX_TRIES = 1000;

/** A commit that may come behind those of other writers. */
export interface PendingCommit {
  readonly actions: readonly Action[];
  /** Says whether the actions are still right behind a newer version than the one that they were made for. */
  readonly stillHolds: (newest: Snapshot) => boolean;
  /** Epoch milliseconds. */
  readonly now: number;
}

/**
 * Commits at the next version that is free: behind what other writers committed since `base`, as long as that does not
 * conflict. Nothing is written twice.
 *
 * @returns the table afterwards, or undefined where what others committed conflicts: then nothing was committed.
 * @throws {CommitConflict} when other writers kept coming first. The table is then as they left it.
 */
export async function commitBehind(
  lake: Lake,
  base: Snapshot,
  { actions, stillHolds, now }: PendingCommit,
): Promise<Snapshot | undefined> {
  let newest = base;
  for (let attempt = 1; attempt <= MAX_TRIES; attempt++) {
    const after = await commit(lake.storage, newest, actions, now);
    if (after !== undefined) {
      lake.remember(after);
      return after;
    }
    newest = await lake.snapshot(base.table);
    if (!stillHolds(newest)) return undefined;
  }
  throw tooManyWriters(base, MAX_TRIES);
}

/** Other writers came first, as often as was tried. */
export function tooManyWriters({ table }: Snapshot, times: number): CommitConflict {
  return new CommitConflict(`table ${table.name}: another writer committed first, ${times} times`, {
    hint: "run the command again once the other writers are done",
  });
}
