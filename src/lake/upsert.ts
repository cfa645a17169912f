import { CommitConflict } from "../core/errors.js";
import { parquetRelation } from "../db/parquet-relation.js";
import { ident } from "../db/quote.js";
import type { Session } from "../db/session.js";
import { type Column, DUCKDB_TYPE, type TableSchema } from "../schema/column.js";
import { commitInfoAction, removeAction } from "./commit-actions.js";
import { deleteDataFiles, writeDataFile } from "./data-file.js";
import type { Action, AddFile } from "./delta-actions.js";
import { commit, type DataFile, type Snapshot, schemaActions } from "./delta-log.js";
import type { Lake } from "./lake.js";
import { overlappingFiles } from "./overlap.js";
import { type StagedRows, stagedTable } from "./staged-rows.js";

/** What a landing did to a table. */
export interface LandReport {
  readonly table: string;
  readonly inserted: number;
  readonly updated: number;
  /** Rows that the table already had, just so. */
  readonly unchanged: number;
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
}

/** Commits that are tried when other writers come first. */
const MAX_TRIES = 12;
/** The staged rows that differ from the table, with the live file that holds the older row. */
const DIFF = "upsert_diff";

/**
 * Lands staged rows, or those of a temporary table, in a lake table, in one commit: a new key is inserted, a known one replaced where
 * its content differs, and a row that the table already has costs nothing. The staged rows must have unique keys.
 *
 * Inserts are written as new files; a live file is rewritten only if it holds a row that changed. Columns that the
 * staged table lacks become null; numeric ones that an open table does not know yet are added to it.
 *
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
  for (let attempt = 1; attempt <= MAX_TRIES; attempt++) {
    const base = await lake.snapshot(table);
    const columns = await evolvedColumns(session, base, staged);
    const { changes, ...rows } = await findChanges(session, lake, base, columns, staged);
    if (rows.inserted + rows.updated === 0)
      return { table: table.name, ...rows, filesAdded: 0, version: base.version };
    const { adds, removed } = await writeFiles(session, lake, { ...base, columns }, changes, options.now);
    const actions: Action[] = [
      commitInfoAction(options, { numInsertedRows: rows.inserted, numUpdatedRows: rows.updated }),
      ...(base.version < 0 || columns.length > base.columns.length
        ? schemaActions(base, columns, options.now)
        : []),
      ...removed.map((file) => removeAction(file, { now: options.now, dataChange: true })),
      ...adds.map((add) => ({ add })),
    ];
    const after = await commit(lake.storage, base, actions);
    if (after !== undefined) {
      lake.remember(after);
      return { table: table.name, ...rows, filesAdded: adds.length, version: after.version };
    }
    await deleteDataFiles(lake.storage, table, adds);
  }
  throw new CommitConflict(`table ${table.name}: another writer committed first, ${MAX_TRIES} times`, {
    hint: "run the command again once the other writers are done",
  });
}

/** The table's columns and those that the staged rows add to an open table. */
async function evolvedColumns(
  session: Session,
  base: Snapshot,
  staged: StagedRows,
): Promise<readonly Column[]> {
  if (base.table.open !== true) return base.columns;
  const known = new Set(base.columns.map((column) => column.name));
  const described = await session.json<{ column_name: string }>(`DESCRIBE FROM ${staged.from}`);
  const added = described
    .filter((row) => !known.has(row.column_name))
    .map((row): Column => ({ name: row.column_name, type: "double", nullable: true, doc: "As delivered." }));
  return added.length === 0 ? base.columns : [...base.columns, ...added];
}

/** Staged rows that differ from the table: a table of them, and how many of each kind. */
interface Changes {
  /** Has all columns of the table and, where rows were updated, `live_file`: the file that holds the older row. */
  readonly changes: StagedRows;
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
}

async function findChanges(
  session: Session,
  lake: Lake,
  base: Snapshot,
  columns: readonly Column[],
  staged: StagedRows,
): Promise<Changes> {
  const { table } = base;
  const overlapping = overlappingFiles(base, staged);
  const rows = staged.partitions.reduce((sum, partition) => sum + partition.rows, 0);
  if (overlapping.length === 0) return { changes: staged, inserted: rows, updated: 0, unchanged: 0 };
  const stagedRows = `SELECT ${await stagedColumns(session, columns, staged)} FROM ${staged.from}`;
  const liveRows = await parquetRelation(session, lake.filesOf(base, overlapping), { withFile: true });
  const same = table.key
    .map((name) => `s.${ident(name)} IS NOT DISTINCT FROM l.${ident(name)}`)
    .join(" AND ");
  const content = columns.filter((c) => !table.key.includes(c.name) && !table.partition.includes(c.name));
  const differs = content.map((c) =>
    base.columns.includes(c)
      ? `s.${ident(c.name)} IS DISTINCT FROM l.${ident(c.name)}`
      : `s.${ident(c.name)} IS NOT NULL`,
  );
  await session.run(`CREATE OR REPLACE TEMP TABLE ${DIFF} AS
    SELECT s.*, l.live_file
    FROM (${stagedRows}) s LEFT JOIN (${liveRows}) l ON ${same}
    WHERE l.live_file IS NULL OR ${differs.join(" OR ")}`);
  const [counts] = await session.json<{ inserted: bigint; updated: bigint }>(
    `SELECT count(*) FILTER (live_file IS NULL) AS inserted, count(live_file) AS updated FROM ${DIFF}`,
  );
  const inserted = Number(counts?.inserted);
  const updated = Number(counts?.updated);
  const changes = await stagedTable(session, table, DIFF);
  return { changes, inserted, updated, unchanged: rows - inserted - updated };
}

async function stagedColumns(
  session: Session,
  columns: readonly Column[],
  staged: StagedRows,
): Promise<string> {
  const described = await session.json<{ column_name: string }>(`DESCRIBE FROM ${staged.from}`);
  const present = new Set(described.map((row) => row.column_name));
  return columns
    .map(
      ({ name, type }) =>
        `CAST(${present.has(name) ? ident(name) : "NULL"} AS ${DUCKDB_TYPE[type]}) AS ${ident(name)}`,
    )
    .join(", ");
}

/** Writes what changed, a file a partition; a live file that held a changed row goes into it whole. */
async function writeFiles(
  session: Session,
  lake: Lake,
  next: Snapshot,
  changes: StagedRows,
  now: number,
): Promise<{ adds: AddFile[]; removed: DataFile[] }> {
  const byUrl = new Map([...next.files.values()].map((file) => [lake.urlOf(next, file), file]));
  const select = await stagedColumns(session, next.columns, changes);
  const adds: AddFile[] = [];
  const removed: DataFile[] = [];
  for (const { from, values, inOrder } of changes.partitions) {
    const changed = `SELECT ${select} FROM ${from}`;
    const touched =
      changes.from === ident(DIFF)
        ? await session.json<{ live_file: string }>(
            `SELECT DISTINCT live_file FROM ${from} WHERE live_file IS NOT NULL`,
          )
        : [];
    const files = touched.map((row) => byUrl.get(row.live_file) as DataFile);
    removed.push(...files);
    const rows = files.length === 0 ? changed : await rewritten(session, lake, next, files, changed);
    adds.push(await writeDataFile(session, lake.storage, next, rows, values, now, inOrder));
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
  const same = next.table.key
    .map((name) => `d.${ident(name)} IS NOT DISTINCT FROM l.${ident(name)}`)
    .join(" AND ");
  return `SELECT l.* FROM (${live}) l ANTI JOIN ${DIFF} d ON ${same} UNION ALL ${changed}`;
}
