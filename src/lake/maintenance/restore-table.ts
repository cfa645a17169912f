import { LakeError } from "../../core/errors.js";
import { type Clock, DAY_MS } from "../../core/time.js";
import type { Column, TableSchema } from "../../schema/column.js";
import { TABLES } from "../../schema/tables.js";
import { verifyOnce } from "../files/verify-content.js";
import { isOutside, type Lake } from "../lake.js";
import { RETENTION_MS } from "../log/checkpoint.js";
import { commitWithRetries, retryOnConflict } from "../log/commit.js";
import { commitInfoAction, removeAction, schemaActions, txnAction } from "../log/commit-actions.js";
import type { Action, Txn } from "../log/delta-actions.js";
import { isFence } from "../log/fence.js";
import { effectiveHistory, type HistoryEntry, RESTORE } from "../log/history.js";
import { listLog, VersionGone } from "../log/log-files.js";
import { commitsUpTo, readLog } from "../log/read-log.js";
import { addActionOf, type DataFile, decodePath, emptySnapshot, type Snapshot } from "../log/snapshot.js";

/**
 * The oldest version after another one of which every file is stored; undefined where that is only the newest one of
 * the table. Each commit between them is read once.
 */
async function restorableVersion(
  { storage }: Lake,
  { table, version, files }: Snapshot,
): Promise<number | undefined> {
  const stored = new Set((await storage.walk(table.name)).map(({ path }) => path));
  const isGone = (path: string): boolean => !isOutside(path) && !stored.has(path);
  const gone = new Set([...files.keys()].filter(isGone));
  const { newest } = await listLog(storage, table.name);
  for await (const commit of commitsUpTo(storage, table.name, version + 1, newest - 1)) {
    for (const action of commit.actions) {
      if ("remove" in action) gone.delete(decodePath(action.remove.path));
      else if ("add" in action && isGone(decodePath(action.add.path))) gone.add(decodePath(action.add.path));
    }
    if (gone.size === 0) return commit.version;
  }
  return undefined;
}

/** What a table becomes again: a version, what it was at a time (epoch milliseconds), or a table without rows. */
export type RestoreTarget =
  | { readonly kind: "version"; readonly version: number }
  | { readonly kind: "time"; readonly asOf: number }
  | { readonly kind: "empty" };

export interface RestorePlan {
  /** The version that is replaced. */
  readonly base: Snapshot;
  /** The version whose rows come back; its `version` is -1 where the table becomes empty. */
  readonly target: Snapshot;
  /** Files that only the target has. */
  readonly added: readonly DataFile[];
  /** Files that only the base has. */
  readonly removed: readonly DataFile[];
  /** The columns afterwards: those of the base, and what another program has taken out since. */
  readonly columns: readonly Column[];
}

/**
 * Plans a restore. Nothing is to be done where the base has the rows of the target, also in other files: a compaction
 * is not undone.
 *
 * @param base the table at its newest version.
 * @throws {VersionGone} for a version that does not exist, or of which files are gone. @throws {LakeError} where a
 *   column has another type now.
 */
export async function planRestore(lake: Lake, base: Snapshot, given: RestoreTarget): Promise<RestorePlan> {
  const target = await targetOf(lake, base, given);
  const nothing = { base, target, added: [], removed: [], columns: base.columns };
  if (target.version >= base.dataVersion) return nothing;
  const added = [...target.files.values()].filter(({ path }) => !base.files.has(path));
  const removed = [...base.files.values()].filter(({ path }) => !target.files.has(path));
  if (added.length + removed.length === 0) return nothing;
  await expectStored(lake, base, target);
  return { base, target, added, removed, columns: columnsAfter(base, target) };
}

export function isSettled({ added, removed }: RestorePlan): boolean {
  return added.length + removed.length === 0;
}

/**
 * Makes sure that the files that come back are what was written; each is read once in this process.
 *
 * @throws {LakeError} for the first damaged file.
 */
export async function verifyRestored(
  lake: Lake,
  { target, added }: RestorePlan,
  signal?: AbortSignal,
): Promise<void> {
  try {
    await verifyOnce(lake, target, added, signal);
  } catch (cause) {
    if (!(cause instanceof LakeError)) throw cause;
    throw new LakeError(`${cause.message}; version ${target.version} cannot be restored with it`, {
      hint: `${cause.hint === undefined ? "" : `${cause.hint}; `}barlake history ${target.table.name} lists other versions`,
      cause,
    });
  }
}

/** Files of a snapshot that do not exist, or have another size than the log says. */
async function goneFiles(
  lake: Lake,
  snapshot: Snapshot,
  files: Iterable<DataFile> = snapshot.files.values(),
): Promise<readonly DataFile[]> {
  const sizes = await storedSizes(lake, snapshot.table);
  const gone: DataFile[] = [];
  for (const file of files) {
    const size = isOutside(file.path) ? (await lake.factsOf(snapshot, file))?.size : sizes.get(file.path);
    if (size !== file.size) gone.push(file);
  }
  return gone;
}

async function storedSizes({ storage }: Lake, { name }: TableSchema): Promise<ReadonlyMap<string, number>> {
  return new Map((await storage.walk(name)).map(({ path, size }) => [path, size]));
}

async function targetOf(
  lake: Lake,
  { table, version: newest }: Snapshot,
  given: RestoreTarget,
): Promise<Snapshot> {
  const before = emptySnapshot(table);
  if (given.kind === "empty") return before;
  if (given.kind === "time") return readLog(lake.storage, before, { asOf: given.asOf });
  const { version } = given;
  if (version >= 0 && version <= newest) return readLog(lake.storage, before, { version });
  throw new VersionGone(`table ${table.name}: version ${version} does not exist`, {
    hint:
      newest < 0
        ? "the table has none yet"
        : `its newest is ${newest}; barlake history ${table.name} lists them, and --empty takes all rows out`,
  });
}

/** @throws {VersionGone} that says how many files of the target are gone, and which version can be restored instead. */
async function expectStored(lake: Lake, base: Snapshot, target: Snapshot): Promise<void> {
  const gone = await goneFiles(lake, target);
  const [first] = gone;
  if (first === undefined) return;
  const { table, version, files } = target;
  const lost = gone.find(({ path }) => base.files.has(path));
  if (lost !== undefined)
    throw new LakeError(
      `table ${table.name}: version ${version} cannot be restored: ${lost.path}, which the newest version has, too, is missing or damaged`,
      { hint: `barlake repair ${table.name} takes it out of the table, or restores it from a copy` },
    );
  const other = await restorableVersion(lake, target);
  const instead =
    other === undefined
      ? "no version between it and the newest one can be restored"
      : `the oldest version after it that can be restored is ${other}: barlake restore ${table.name} --version ${other}`;
  throw new VersionGone(
    `table ${table.name}: version ${version} cannot be restored: ${gone.length} of its ${files.size} files ${gone.length === 1 ? "is" : "are"} gone, such as ${first.path}; nothing was changed`,
    { hint: `a vacuum deletes what only old versions have; ${instead}; a copy of the lake may have more` },
  );
}

/**
 * The newest columns, so that nothing that reads the table misses one; they are null in older files. A column that only
 * the target has is added again.
 */
function columnsAfter(base: Snapshot, target: Snapshot): readonly Column[] {
  if (target.version < 0) return base.columns;
  const missing: Column[] = [];
  for (const column of target.columns) {
    const own = base.columns.find(({ name }) => name === column.name);
    if (own === undefined) missing.push({ ...column, nullable: true });
    else if (own.type !== column.type)
      throw new LakeError(
        `table ${base.table.name}, column ${column.name}: is ${own.type}, and was ${column.type} in version ${target.version}; it cannot be restored`,
        { hint: "another program has changed the table; read the old version with barlake sql --version" },
      );
  }
  return missing.length === 0 ? base.columns : [...base.columns, ...missing];
}

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

interface RestoreOptions {
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
function changesRows({ operation, filesAdded, filesRemoved }: HistoryEntry): boolean {
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

/** Longest time between the first and the last commit of a run. */
const RUN_MS = DAY_MS;

/** What the runs of undone commits have changed in another table, and what is still there. */
export interface RelatedChange {
  readonly table: string;
  /** Newest first. */
  readonly commits: readonly HistoryEntry[];
}

/** What undone commits leave in the tables that were not restored. */
export interface RelatedChanges {
  readonly changes: readonly RelatedChange[];
  /** The time to which the whole lake can be restored, so that these changes are undone, too; epoch milliseconds. */
  readonly asOf: number | undefined;
}

/**
 * Finds what the runs whose commits were undone have changed in other tables, such as the trading days that follow from
 * bars, and the ledger. Only the commits since then are read.
 *
 * @param restoredAt when the version that was restored was committed, in epoch milliseconds. The time of the result is
 *   not before it.
 */
export async function relatedChanges(
  { storage }: Lake,
  reports: readonly RestoreReport[],
  restoredAt: number = Number.NEGATIVE_INFINITY,
): Promise<RelatedChanges> {
  const undone = reports.flatMap((report) => report.undone);
  const runs = new Set(undone.flatMap(({ runId }) => runId ?? []));
  const since = Math.min(...undone.flatMap(({ committedAt }) => committedAt ?? []));
  if (runs.size === 0 || !Number.isFinite(since)) return { changes: [], asOf: undefined };
  const restored = new Set(reports.map(({ table }) => table));
  const changes: RelatedChange[] = [];
  for (const table of TABLES) {
    if (restored.has(table.name)) continue;
    const commits: HistoryEntry[] = [];
    try {
      for await (const entry of effectiveHistory(storage, table, Number.POSITIVE_INFINITY)) {
        if ((entry.committedAt ?? since) < since - RUN_MS) break;
        if (changesRows(entry) && entry.runId !== undefined && runs.has(entry.runId)) commits.push(entry);
      }
    } catch (error) {
      // What cannot be read of another table's log says nothing about the tables that were restored.
      if (!(error instanceof LakeError)) throw error;
    }
    if (commits.length > 0) changes.push({ table: table.name, commits });
  }
  if (changes.length === 0) return { changes, asOf: undefined };
  const times = [...undone, ...changes.flatMap(({ commits }) => commits)].flatMap(
    ({ committedAt }) => committedAt ?? [],
  );
  return { changes, asOf: Math.max(restoredAt, Math.min(...times) - 1) };
}
