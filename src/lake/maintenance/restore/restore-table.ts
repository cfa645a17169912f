import { LakeError } from "../../../core/errors.js";
import type { Clock } from "../../../core/time.js";
import type { TableSchema } from "../../../schema/column.js";
import type { Lake } from "../../lake.js";
import { RETENTION_MS } from "../../log/checkpoint.js";
import { commitWithRetries } from "../../log/commit.js";
import { commitInfoAction, removeAction, txnAction } from "../../log/commit-actions.js";
import type { Action, Txn } from "../../log/delta-actions.js";
import { isFence } from "../../log/fence.js";
import { effectiveHistory, type HistoryEntry, RESTORE } from "../../log/history.js";
import { retryOnConflict } from "../../log/retry-on-conflict.js";
import { schemaActions } from "../../log/schema-actions.js";
import { addActionOf, type DataFile, type Snapshot } from "../../log/snapshot.js";
import {
  goneFiles,
  isSettled,
  planRestore,
  type RestorePlan,
  type RestoreTarget,
  verifyRestored,
} from "./plan-restore.js";

/** What a restore did to a table, or would do. Rows are those of the log, and undefined where a file states none. */
export interface RestoreReport {
  readonly table: string;
  /** The version that was replaced. */
  readonly from: number;
  /** The version whose rows the table has again; undefined where it is empty. */
  readonly to: number | undefined;
  /** The version that the restore made; undefined where there was nothing to do, and in a dry run. */
  readonly version: number | undefined;
  readonly rowsBefore: number | undefined;
  readonly rowsAfter: number | undefined;
  /** Rows of the files that came back, and of those that went. A file of which one row differs counts as a whole. */
  readonly rowsAdded: number | undefined;
  readonly rowsRemoved: number | undefined;
  readonly filesAdded: number;
  readonly filesRemoved: number;
  /** When the version that was replaced was committed, in epoch milliseconds; undefined where its commit does not say. */
  readonly replacedAt: number | undefined;
  /** When the restore was committed, in epoch milliseconds; undefined without a new version. */
  readonly restoredAt: number | undefined;
  /** The commits that were undone, newest first; without compactions, and without what an earlier restore had undone. */
  readonly undone: readonly HistoryEntry[];
}

/** How tables are restored. */
export interface RestoreOptions {
  /** Identifies the restore, for the log. */
  readonly runId: string;
  readonly clock: Clock;
  /** Ends the verification of files; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Gives a table the rows of an earlier version again, in one new commit: the history remains, and so does every version.
 * The columns are the newest ones. Responses that landed since count as not landed, so that they can land again, and
 * jobs go on from where they were then. A commit that another writer makes in the meantime is replaced as well, and is in
 * the report.
 *
 * @throws {VersionGone} for a version that does not exist, or of which files are gone. @throws {LakeError} for a damaged
 *   file of it. Then nothing was changed.
 * @throws {CommitConflict} when other writers were first at every attempt.
 */
export async function restoreTable(
  lake: Lake,
  table: TableSchema,
  target: RestoreTarget,
  { runId, clock, signal }: RestoreOptions,
): Promise<RestoreReport> {
  return retryOnConflict(lake, table, async (base) => {
    const plan = await planRestore(lake, base, target);
    if (isSettled(plan)) return restoreReport(lake, plan);
    await verifyRestored(lake, plan, signal);
    const now = clock.now();
    // Every other commit is one that the report must have, so the restore is planned again after it.
    const actions = actionsOf(plan, runId, now);
    const after = await commitWithRetries(lake, base, { actions, stillHolds: () => false, now });
    if (after === undefined) return undefined;
    await expectWhole(lake, after, plan);
    return restoreReport(lake, plan, after);
  });
}

/** The report of a plan. @param after the version that it made. @default none: it was not carried out */
export async function restoreReport(lake: Lake, plan: RestorePlan, after?: Snapshot): Promise<RestoreReport> {
  const { base, target, added, removed } = plan;
  const isChanged = !isSettled(plan);
  const before = rowsIn(base.files.values());
  return {
    table: base.table.name,
    from: base.version,
    to: target.version < 0 ? undefined : target.version,
    version: after?.version,
    rowsBefore: before,
    rowsAfter: isChanged ? rowsIn(target.files.values()) : before,
    rowsAdded: rowsIn(added),
    rowsRemoved: rowsIn(removed),
    filesAdded: added.length,
    filesRemoved: removed.length,
    replacedAt: base.committedAt,
    restoredAt: after?.committedAt,
    undone: isChanged ? await undoneCommits(lake, plan) : [],
  };
}

/** The number of rows of files; undefined where the log has none for one of them. */
function rowsIn(files: Iterable<DataFile>): number | undefined {
  let rows: number | undefined = 0;
  for (const { stats } of files) rows = stats && rows !== undefined ? rows + stats.numRecords : undefined;
  return rows;
}

async function undoneCommits({ storage }: Lake, { base, target }: RestorePlan): Promise<HistoryEntry[]> {
  const undone: HistoryEntry[] = [];
  for await (const entry of effectiveHistory(storage, base.table, base.version)) {
    if (entry.version <= target.version) break;
    if (changesRows(entry)) undone.push(entry);
  }
  return undone;
}

/** Whether a commit may have changed rows; a compaction does not. */
export function changesRows({ operation, filesAdded, filesRemoved }: HistoryEntry): boolean {
  return filesAdded + filesRemoved > 0 && operation !== "OPTIMIZE";
}

function actionsOf(
  { base, target, added, removed, columns }: RestorePlan,
  runId: string,
  now: number,
): Action[] {
  const bytes = (files: Iterable<DataFile>): number => [...files].reduce((sum, file) => sum + file.size, 0);
  // The names are Delta's.
  const metrics = {
    tableSizeAfterRestore: bytes(target.files.values()),
    numOfFilesAfterRestore: target.files.size,
    numRemovedFiles: removed.length,
    numRestoredFiles: added.length,
    removedFilesSize: bytes(removed),
    restoredFilesSize: bytes(added),
  };
  return [
    commitInfoAction({ operation: RESTORE, runId, now }, metrics, { version: String(target.version) }),
    ...(columns === base.columns ? [] : schemaActions(base, columns, now)),
    // Only this shows later whether the commit is in the log: its files were known before.
    txnAction(`${RESTORED}${runId}`, now),
    ...restoredTxns(base, target, now).map((txn) => ({ txn })),
    ...removed.map((file) => removeAction(file, { now, dataChange: true })),
    // What looks for new files, such as the search for trading days, finds them again by this time.
    ...added.map((file) => ({ add: { ...addActionOf(file), modificationTime: now, dataChange: true } })),
  ];
}

/** The beginning of the name of the record of a restore. */
const RESTORED = "restored/";

/**
 * The records that make those of the base the target's: which responses have landed, and how far jobs have come. Those
 * that no longer matter, because checkpoints leave them out, are not written again.
 */
function restoredTxns(base: Snapshot, target: Snapshot, now: number): Txn[] {
  // Fences remain: the right to commit is no content.
  const isContent = ({ appId }: Txn): boolean => !isFence(appId) && !appId.startsWith(RESTORED);
  const undone = [...base.txns.values()].filter((txn) => isContent(txn) && !target.txns.has(txn.appId));
  const again = [...target.txns.values()].filter(
    (txn) =>
      isContent(txn) &&
      base.txns.get(txn.appId)?.version !== txn.version &&
      (txn.lastUpdated ?? now) > now - RETENTION_MS,
  );
  return [...undone.map(({ appId }) => ({ appId, version: -1, lastUpdated: now })), ...again];
}

/** @throws {LakeError} where a vacuum at the same time has deleted files that came back. */
async function expectWhole(lake: Lake, after: Snapshot, { base, added }: RestorePlan): Promise<void> {
  if (added.length === 0) return;
  const gone = await goneFiles(lake, after, added);
  if (gone.length === 0) return;
  const { name } = after.table;
  throw new LakeError(
    `table ${name}: ${gone.length} of the files that came back were deleted at the same time, so that version ${after.version} cannot be read`,
    {
      hint: `a vacuum was running: barlake restore ${name} --version ${base.version} gives the former rows back`,
    },
  );
}
