import { randomInt } from "node:crypto";
import { systemClock } from "../client/system-clock.js";
import { CommitConflict } from "../core/errors.js";
import type { Clock } from "../core/time.js";
import { parquetRelation } from "../db/parquet-relation.js";
import { ident } from "../db/quote.js";
import type { Session } from "../db/session.js";
import type { TableSchema } from "../schema/column.js";
import { DIFF, findChanges, type RowChange, sameKey, selectAs } from "./changes.js";
import { commitInfoAction, removeAction, txnAction } from "./commit-actions.js";
import { commitBehind, tooManyWriters } from "./commit-behind.js";
import { deleteDataFiles, writeDataFile } from "./data-file.js";
import type { Action, AddFile } from "./delta-actions.js";
import { schemaActions } from "./delta-log.js";
import { evolvedColumns } from "./evolve-columns.js";
import type { Lake } from "./lake.js";
import { overlappingFiles, partitionsOf, type StagedRange, stagedRanges } from "./overlap.js";
import type { DataFile, Snapshot } from "./snapshot.js";

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
  readonly answers?: readonly string[];
}

/** Times that a landing is compared anew because other writers changed what it had been compared with. */
const MAX_TRIES = 40;
/** Longest wait before a landing is compared anew; waits are random, so that two writers do not stay in step. */
const MAX_WAIT_MS = 250;

/**
 * Lands the rows of a temporary table in a lake table, in one commit: a new key is inserted, a known one replaced where
 * its content differs, and a row that the table already has costs nothing. The staged rows must have unique keys.
 *
 * Inserts are written as new files; a live file is rewritten only if it holds a row that changed. Columns that the
 * staged table lacks become null; those that an open table does not know yet are added to it. What other writers commit
 * meanwhile is left standing; the landing is compared again only if it meets what they wrote.
 *
 * @throws {LakeError} for a column whose type is not the one that the table has.
 * @throws {CommitConflict} when other writers kept coming first. The table is then as they left it.
 */
export async function upsert(
  session: Session,
  lake: Lake,
  table: TableSchema,
  staged: string,
  options: LandOptions,
  clock: Pick<Clock, "sleep"> = systemClock,
): Promise<LandReport> {
  const ranges = await stagedRanges(session, table, staged);
  let base = await lake.snapshot(table);
  for (let attempt = 1; attempt <= MAX_TRIES; attempt++) {
    if (hasLanded(base, options)) return unchangedReport(session, base, staged);
    try {
      const report = await landOn(session, lake, base, { staged, ranges }, options);
      if (report !== undefined) return report;
    } finally {
      await session.run(`DROP TABLE IF EXISTS ${DIFF}`);
    }
    await clock.sleep(randomInt(1, Math.min(MAX_WAIT_MS, 4 * 2 ** attempt)));
    base = await lake.snapshot(table);
  }
  throw tooManyWriters(base, MAX_TRIES);
}

/** Of the identities of answers, those that have not landed in a table yet. */
export function unlanded(snapshot: Snapshot, answers: readonly string[]): string[] {
  return answers.filter((answer) => !snapshot.txns.has(answer));
}

/** Rows that wait in a temporary table, and what they span. */
interface Staged {
  readonly staged: string;
  readonly ranges: readonly StagedRange[];
}

/** @returns undefined where another writer has changed what the rows were compared with: then nothing was committed. */
async function landOn(
  session: Session,
  lake: Lake,
  base: Snapshot,
  { staged, ranges }: Staged,
  options: LandOptions,
): Promise<LandReport | undefined> {
  const { table } = base;
  const columns = await evolvedColumns(session, base, staged);
  const compared = overlappingFiles(base.files.values(), ranges);
  const { rows, ...counts } = await findChanges(session, lake, base, compared, columns, staged);
  const report = { table: table.name, ...counts };
  if (counts.inserted + counts.updated === 0) return { ...report, filesAdded: 0, version: base.version };
  const { adds, removed } = await writeFiles(session, lake, { ...base, columns }, rows, options.now);
  const actions: Action[] = [
    commitInfoAction(options, { numInsertedRows: counts.inserted, numUpdatedRows: counts.updated }),
    ...(base.version < 0 || columns !== base.columns ? schemaActions(base, columns, options.now) : []),
    ...(options.answers ?? []).map((answer) => txnAction(answer, options.now)),
    ...removed.map((file) => removeAction(file, { now: options.now, dataChange: true })),
    ...adds.map((add) => ({ add })),
  ];
  // Where this throws, the commit may have come about all the same: the written files must stay then.
  const after = await commitBehind(lake, base, {
    actions,
    stillHolds: (newest) => !conflicts(base, newest, compared, ranges, options),
    now: options.now,
  });
  if (after !== undefined) return { ...report, filesAdded: adds.length, version: after.version };
  await deleteDataFiles(lake.storage, table, adds);
  return undefined;
}

/** Whether what was committed since could change what the rows were compared with. */
function conflicts(
  base: Snapshot,
  newest: Snapshot,
  compared: readonly DataFile[],
  ranges: readonly StagedRange[],
  options: LandOptions,
): boolean {
  if (newest.metaData !== base.metaData || hasLanded(newest, options)) return true;
  if (compared.some(({ path }) => !newest.files.has(path))) return true;
  const added = [...newest.files.values()].filter(({ path }) => !base.files.has(path));
  return overlappingFiles(added, ranges).length > 0;
}

/** @throws {CommitConflict} where some of the answers have landed: whoever lands them at the same time has the rest. */
function hasLanded(snapshot: Snapshot, { answers = [] }: LandOptions): boolean {
  if (answers.length === 0) return false;
  const left = unlanded(snapshot, answers);
  if (left.length === 0 || left.length === answers.length) return left.length === 0;
  throw new CommitConflict(
    `table ${snapshot.table.name}: ${answers.length - left.length} of the answers have landed by another run meanwhile`,
    { hint: "run the command again: it lands what is left" },
  );
}

async function unchangedReport(session: Session, base: Snapshot, staged: string): Promise<LandReport> {
  const [counted] = await session.json<{ rows: bigint }>(`SELECT count(*) AS rows FROM ${ident(staged)}`);
  const { table, version } = base;
  const unchanged = Number(counted?.rows);
  return { table: table.name, inserted: 0, updated: 0, unchanged, sample: [], filesAdded: 0, version };
}

/** Writes what changed, a file a partition; a live file that held a changed row goes into it whole. */
async function writeFiles(
  session: Session,
  lake: Lake,
  next: Snapshot,
  changes: string,
  now: number,
): Promise<{ adds: AddFile[]; removed: DataFile[] }> {
  const byUrl = new Map([...next.files.values()].map((file) => [lake.urlOf(next, file), file]));
  const select = await selectAs(session, next.columns, changes);
  const adds: AddFile[] = [];
  const removed: DataFile[] = [];
  try {
    for (const { where, values } of await partitionsOf(session, next.table, changes)) {
      const changed = `${select} WHERE ${where}`;
      const touched =
        changes === DIFF
          ? await session.json<{ live_file: string }>(
              `SELECT DISTINCT live_file FROM ${DIFF} WHERE live_file IS NOT NULL AND ${where}`,
            )
          : [];
      const files = touched.map((row) => byUrl.get(row.live_file) as DataFile);
      removed.push(...files);
      const rows = files.length === 0 ? changed : await rewritten(session, lake, next, files, changed);
      adds.push(await writeDataFile(session, lake.storage, next, rows, values, now));
    }
  } catch (error) {
    await deleteDataFiles(lake.storage, next.table, adds);
    throw error;
  }
  return { adds, removed };
}

/** The rows of live files with the changed ones put in the place of the older. */
async function rewritten(
  session: Session,
  lake: Lake,
  next: Snapshot,
  files: readonly DataFile[],
  changed: string,
): Promise<string> {
  const live = await parquetRelation(session, lake.filesOf(next, files));
  return `SELECT l.* FROM (${live}) l ANTI JOIN ${DIFF} d ON ${sameKey(next.table, "d", "l")} UNION ALL ${changed}`;
}
