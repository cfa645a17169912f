import { randomInt } from "node:crypto";
import { systemClock } from "../../client/system-clock.js";
import { CommitConflict } from "../../core/errors.js";
import type { Clock } from "../../core/time.js";
import type { Session } from "../../db/session.js";
import type { TableSchema } from "../../schema/column.js";
import { deleteDataFiles } from "../files/data-file.js";
import { overlappingFiles } from "../files/prune.js";
import { verifyContent } from "../files/verify-content.js";
import type { Lake } from "../lake.js";
import { commitInfoAction, removeAction, txnAction } from "../log/commit-actions.js";
import { commitBehind, tooManyWriters } from "../log/commit-behind.js";
import type { Action } from "../log/delta-actions.js";
import { schemaActions } from "../log/delta-log.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import { DIFF, findChanges, type RowChange } from "./changes.js";
import { evolvedColumns } from "./evolve-columns.js";
import { rowsOf, type StagedRows, stagedTable } from "./staged-rows.js";
import { writeChanges } from "./write-changes.js";

/** What a landing did to a table. */
export interface LandReport {
  readonly table: string;
  readonly inserted: number;
  readonly updated: number;
  /** Rows that the table already had, just so. */
  readonly unchanged: number;
  /** The first of the updated rows, with their old and new values. */
  readonly sample: readonly RowChange[];
  readonly filesAdded: number;
  /** The table's version afterwards; the same as before where nothing changed. */
  readonly version: number;
}

export interface LandOptions {
  /** What is done, for the log: IMPORT, INGEST, SIMULATE. */
  readonly operation: string;
  /** Identifies the run, for the log. */
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /** Identities of the answers that the rows came in: each lands once, however often it is tried. @default none */
  readonly responses?: readonly string[];
}

/** Times that a landing is compared anew because other writers changed what it had been compared with. */
const MAX_TRIES = 40;
/** Longest wait before a landing is compared anew; waits are random, so that two writers do not stay in step. */
const MAX_WAIT_MS = 250;

/**
 * Lands staged rows, or those of a temporary table, in a lake table, in one commit: a new key is inserted, a known one
 * replaced where its content differs, and a row that the table already has costs nothing. The keys must be unique.
 *
 * Inserts are written as new files; a live file is rewritten only if it holds a row that changed. Columns that the
 * staged rows lack become null; those that an open table does not know yet are added to it. What other writers commit
 * meanwhile is left standing; the landing is compared again only if it meets what they wrote.
 *
 * @throws {LakeError} for a column whose type is not the one that the table has, and for a live file that is damaged.
 * @throws {CommitConflict} when other writers kept coming first. The table is then as they left it.
 */
export async function upsert(
  session: Session,
  lake: Lake,
  table: TableSchema,
  rowsOrTable: StagedRows | string,
  options: LandOptions,
): Promise<LandReport> {
  const staged =
    typeof rowsOrTable === "string" ? await stagedTable(session, table, rowsOrTable) : rowsOrTable;
  return retried(lake, table, (base) => landOn(session, lake, base, staged, options, overlapsKeys));
}

/**
 * Lands rows that depend on what the table holds, as {@link upsert} does; they are made anew whenever another writer
 * has changed the table.
 *
 * @param make fills a temporary table with the rows for a version of the table, and gives its name.
 */
export async function upsertDerived(
  session: Session,
  lake: Lake,
  table: TableSchema,
  make: (base: Snapshot) => Promise<string>,
  options: LandOptions,
): Promise<LandReport> {
  return retried(lake, table, async (base) => {
    const staged = await stagedTable(session, table, await make(base));
    return landOn(session, lake, base, staged, options, () => true);
  });
}

/** Of the identities of answers, those that have not landed in a table yet. */
export function unlanded(snapshot: Snapshot, responses: readonly string[]): string[] {
  return responses.filter((response) => !snapshot.txns.has(response));
}

/** Lands on the newest version, as often as other writers change what the rows were compared with. */
async function retried(
  lake: Lake,
  table: TableSchema,
  land: (base: Snapshot) => Promise<LandReport | undefined>,
  clock: Pick<Clock, "sleep"> = systemClock,
): Promise<LandReport> {
  for (let attempt = 1; ; attempt++) {
    const base = await lake.snapshot(table);
    const report = await land(base);
    if (report !== undefined) return report;
    if (attempt === MAX_TRIES) throw tooManyWriters(base, MAX_TRIES);
    await clock.sleep(randomInt(1, Math.min(MAX_WAIT_MS, 4 * 2 ** attempt)));
  }
}

/** Rows that were compared with live files of a version. */
interface Landing {
  readonly base: Snapshot;
  readonly staged: StagedRows;
  readonly compared: readonly DataFile[];
}

/** Whether what was committed since could change what a landing found. */
type IsTouched = (landing: Landing, newest: Snapshot) => boolean;

/** @returns undefined where another writer has changed what the rows were compared with: then nothing was committed. */
async function landOn(
  session: Session,
  lake: Lake,
  base: Snapshot,
  staged: StagedRows,
  options: LandOptions,
  isTouched: IsTouched,
): Promise<LandReport | undefined> {
  const { table } = base;
  const offered = rowsOf(staged);
  if (offered === 0 || hasLanded(base, options)) {
    const nothing = { inserted: 0, updated: 0, sample: [], filesAdded: 0 };
    return { table: table.name, ...nothing, unchanged: offered, version: base.version };
  }
  try {
    const columns = await evolvedColumns(session, base, staged.from);
    const compared = overlappingFiles(base.files.values(), staged);
    await verifyContent(lake, base, compared);
    const { rows, ...counts } = await findChanges(session, lake, base, compared, columns, staged);
    const report = { table: table.name, ...counts };
    if (counts.inserted + counts.updated === 0) return { ...report, filesAdded: 0, version: base.version };
    const { adds, removed } = await writeChanges(session, lake, { ...base, columns }, rows, options.now);
    const actions: Action[] = [
      commitInfoAction(options, { numInsertedRows: counts.inserted, numUpdatedRows: counts.updated }),
      ...(base.version < 0 || columns !== base.columns ? schemaActions(base, columns, options.now) : []),
      ...(options.responses ?? []).map((response) => txnAction(response, options.now)),
      ...removed.map((file) => removeAction(file, { now: options.now, dataChange: true })),
      ...adds.map((add) => ({ add })),
    ];
    const landing = { base, staged, compared };
    // Where this throws, the commit may have come about all the same: the written files must stay then.
    const after = await commitBehind(lake, base, {
      actions,
      stillHolds: (newest) =>
        newest.metaData === base.metaData && !hasLanded(newest, options) && !isTouched(landing, newest),
      now: options.now,
    });
    if (after !== undefined) return { ...report, filesAdded: adds.length, version: after.version };
    await deleteDataFiles(lake.storage, table, adds);
    return undefined;
  } finally {
    await session.run(`DROP TABLE IF EXISTS ${DIFF}`);
  }
}

/** Whether one of the files that could hold a key of the rows is gone, or another came. */
function overlapsKeys({ base, staged, compared }: Landing, newest: Snapshot): boolean {
  if (compared.some(({ path }) => !newest.files.has(path))) return true;
  const added = [...newest.files.values()].filter(({ path }) => !base.files.has(path));
  return overlappingFiles(added, staged).length > 0;
}

/** @throws {CommitConflict} where some of the answers have landed: whoever lands them at the same time has the rest. */
function hasLanded(snapshot: Snapshot, { responses = [] }: LandOptions): boolean {
  if (responses.length === 0) return false;
  const left = unlanded(snapshot, responses);
  if (left.length === 0 || left.length === responses.length) return left.length === 0;
  throw new CommitConflict(
    `table ${snapshot.table.name}: ${responses.length - left.length} of the responses have landed by another run meanwhile`,
    { hint: "run the command again: it lands what is left" },
  );
}
