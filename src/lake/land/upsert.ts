import { CommitConflict } from "../../core/errors.js";
import { ident, literal } from "../../db/quote.js";
import { countRows } from "../../db/session/count-rows.js";
import { type Session, TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { TableSchema } from "../../schema/column.js";
import { deleteDataFiles } from "../files/data-file.js";
import { overlappingFiles } from "../files/prune.js";
import { verifyContent } from "../files/verify-content.js";
import type { Lake } from "../lake.js";
import { commitWithRetries, retryOnConflict } from "../log/commit.js";
import { commitInfoAction, removeAction, schemaActions, txnAction } from "../log/commit-actions.js";
import type { Action, AddFile, Txn } from "../log/delta-actions.js";
import type { Fence } from "../log/fence.js";
import { type DataFile, decodePath, type Snapshot } from "../log/snapshot.js";
import { findChanges, type RowChange, writeChanges } from "./changes.js";
import { evolvedColumns, rowsOf, type StagedRows, stagedColumns, stagedTable } from "./staged-rows.js";

/**
 * The live files whose rows must be compared with staged rows; they are verified. The range of a whole file spans all
 * its symbols, so it also overlaps rows that share no key with it: those of a new symbol between them, or of the next
 * days. This function therefore compares the ranges of each symbol.
 *
 * A session reads the ranges of a file once, right after it has verified the file: a data file never changes. Each of
 * many landings in a partition therefore reads only the files that are new to its session.
 *
 * @param live the files whose whole ranges overlap the staged rows.
 * @returns all of `live` for tables whose key does not have exactly two columns: a subject, and its position in an
 *   order.
 * @throws {LakeError} for a file that is damaged.
 */
export async function filesToCompare(
  session: Session,
  lake: Lake,
  base: Snapshot,
  live: readonly DataFile[],
  staged: StagedRows,
): Promise<readonly DataFile[]> {
  if (live.length === 0) return live;
  if (base.table.key.length !== 2) {
    await verifyContent(lake, base, live);
    return live;
  }
  return rangesOf(session, base).overlapping(lake, base, live, staged);
}

/** Most ranges that a session stores for one table, at about 40 bytes each. If there are more, all are read again. */
const MOST_RANGES = 2_000_000;

/** The ranges that each session has read, by table. */
const RANGES = new WeakMap<Session, Map<string, FileRanges>>();

function rangesOf(session: Session, { table: { name } }: Snapshot): FileRanges {
  const tables = RANGES.get(session) ?? new Map<string, FileRanges>();
  RANGES.set(session, tables);
  const ranges = tables.get(name) ?? new FileRanges(session);
  tables.set(name, ranges);
  return ranges;
}

/** The range of each subject in each file of a table. */
class FileRanges {
  readonly #session: Session;
  readonly #stored: TempTable;
  /** The number that identifies a file in the temporary table, for each file whose ranges are stored. */
  readonly #numbers = new Map<DataFile, number>();
  #lastNumber = 0;
  #turn: Promise<unknown> = Promise.resolve();

  constructor(session: Session) {
    this.#session = session;
    this.#stored = new TempTable(session, "file_ranges");
  }

  /** As {@link filesToCompare}. Calls run one at a time, because they share the temporary table. */
  overlapping(
    lake: Lake,
    base: Snapshot,
    live: readonly DataFile[],
    staged: StagedRows,
  ): Promise<readonly DataFile[]> {
    const found = this.#turn.then(() => this.#overlapping(lake, base, live, staged));
    this.#turn = found.catch(() => {});
    return found;
  }

  async #overlapping(
    lake: Lake,
    base: Snapshot,
    live: readonly DataFile[],
    staged: StagedRows,
  ): Promise<readonly DataFile[]> {
    const unread = live.filter((file) => !this.#numbers.has(file));
    await verifyContent(lake, base, unread);
    if (unread.length > 0) await this.#read(lake, base, unread);
    const [subject, place] = base.table.key.map(ident);
    const rows = await this.#session.json<{ file: number }>(
      `SELECT DISTINCT l.file
       FROM (SELECT ${subject} AS subject, min(${place}) AS least, max(${place}) AS greatest FROM ${staged.bounds} GROUP BY ALL) s
       JOIN ${this.#stored.name} l
       ON s.subject = l.subject AND s.least <= l.greatest AND s.greatest >= l.least`,
    );
    const overlapping = new Set(rows.map(({ file }) => file));
    const files = live.filter((file) => overlapping.has(this.#numbers.get(file) as number));
    const isNew = new Set(unread);
    await verifyContent(
      lake,
      base,
      files.filter((file) => !isNew.has(file)),
    );
    await this.#forgetTooMany();
    return files;
  }

  async #read(lake: Lake, base: Snapshot, files: readonly DataFile[]): Promise<void> {
    const numbers = new Map(files.map((file) => [file, ++this.#lastNumber]));
    const [subject, place] = base.table.key.map(ident);
    const rows = await parquetRelation(this.#session, lake.filesOf(base, files), { withFile: true });
    const urls = files.map((file) => `(${literal(lake.urlOf(base, file))}, ${numbers.get(file)})`);
    const unknown = "CAST(error('no range may belong to ' || r.live_file) AS INTEGER)";
    const ranges = `SELECT coalesce(n.file, ${unknown}) AS file, r.* EXCLUDE (live_file)
      FROM (SELECT live_file, ${subject} AS subject, min(${place}) AS least, max(${place}) AS greatest
        FROM (${rows}) GROUP BY ALL) r
      LEFT JOIN (VALUES ${urls.join(", ")}) n(url, file) ON n.url = r.live_file`;
    if (this.#numbers.size === 0) await this.#stored.fill(ranges);
    else await this.#session.run(`INSERT INTO ${this.#stored.name} ${ranges}`);
    for (const [file, number] of numbers) this.#numbers.set(file, number);
  }

  async #forgetTooMany(): Promise<void> {
    if ((await countRows(this.#session, this.#stored.name)) <= MOST_RANGES) return;
    this.#numbers.clear();
    await this.#stored.drop();
  }
}

/** What a landing did to a table. */
export interface LandReport {
  readonly table: string;
  /** Rows with a new key. */
  readonly inserted: number;
  /** Rows with a known key and other values. */
  readonly updated: number;
  /** Rows that the table already had with the same content. */
  readonly unchanged: number;
  /** The first of the updated rows, with their old and new values, as examples. */
  readonly sample: readonly RowChange[];
  readonly filesAdded: number;
  /** The table's version afterwards; the same as before where nothing changed. */
  readonly version: number;
}

export interface LandOptions {
  /** The kind of work, for the log: IMPORT, INGEST, SIMULATE, REPAIR. */
  readonly operation: string;
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly now: number;
  /**
   * Identities of the responses that the rows came from. Each response lands only once, even after repeated attempts.
   * @default none
   */
  readonly responses?: readonly string[];
  /** How far jobs have come, which is recorded with the rows; it is not where no row differs. @default nothing */
  readonly progress?: Txn | readonly Txn[] | undefined;
  /** The right to commit. @default no right is needed */
  readonly fence?: Fence | undefined;
  /**
   * What becomes of a known row where the delivery has no value. `replace`: it becomes null, as a delivery of a service is
   * whole. `keep`: it stays, as a file says only some things. @default "replace"
   */
  readonly merge?: "keep" | "replace" | undefined;
}

/**
 * Lands staged rows, or the rows of a temporary table, in a lake table, in one commit: a row with a new key is
 * inserted, a row with a known key replaces the older row if the content differs, and an unchanged row is not written.
 * The keys of the staged rows must be unique.
 *
 * Inserts are written as new files; a live file is rewritten only if one of its rows changed. Columns that the staged
 * rows lack become null, unless `merge` keeps them; columns that an open table does not have yet are added to it. Commits that other writers make
 * at the same time remain; the landing is compared again only if it overlaps what they wrote.
 *
 * @throws {LakeError} for a column whose type differs from the table's, and for a live file that is damaged.
 * @throws {CommitConflict} when other writers were first at every attempt. Then nothing was committed.
 */
export async function upsert(
  session: Session,
  lake: Lake,
  table: TableSchema,
  rowsOrTable: StagedRows | string,
  options: LandOptions,
): Promise<LandReport> {
  const staged =
    typeof rowsOrTable === "string" ? await stagedRows(session, table, rowsOrTable) : rowsOrTable;
  return retryOnConflict(lake, table, (base) => landOn(session, lake, base, staged, options, overlapsKeys));
}

/**
 * Lands rows that depend on the table's content, as {@link upsert} does; the rows are computed again whenever another
 * writer has changed the table.
 *
 * @param make fills a temporary table with the rows for a version of the table, and returns its name.
 */
export async function upsertDerived(
  session: Session,
  lake: Lake,
  table: TableSchema,
  make: (base: Snapshot) => Promise<string>,
  options: LandOptions,
): Promise<LandReport> {
  return retryOnConflict(lake, table, async (base) => {
    const staged = await stagedRows(session, table, await make(base));
    return landOn(session, lake, base, staged, options, () => true);
  });
}

/** The identities of the responses that have not landed in a table yet. */
export function unlanded(snapshot: Snapshot, responses: readonly string[]): string[] {
  return responses.filter((response) => !snapshot.txns.has(response));
}

async function stagedRows(session: Session, table: TableSchema, name: string): Promise<StagedRows> {
  return stagedTable(session, table, name, await stagedColumns(session, name));
}

interface Landing {
  readonly base: Snapshot;
  readonly staged: StagedRows;
  readonly compared: readonly DataFile[];
}

/** Whether commits since the base version could change the result of a landing's comparison. */
type IsTouched = (landing: Landing, newest: Snapshot) => boolean;

/**
 * Makes one attempt. @returns undefined where another writer has changed what the rows were compared with: then nothing
 * was committed.
 */
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
  await using differing = new TempTable(session, "differing_rows");
  const columns = evolvedColumns(base, staged.columns);
  const near = overlappingFiles(base.files.values(), staged);
  const compared = await filesToCompare(session, lake, base, near, staged);
  const { rows, ...counts } = await findChanges(
    session,
    lake,
    base,
    compared,
    columns,
    staged,
    differing,
    options.merge,
  );
  const report = { table: table.name, ...counts };
  if (counts.inserted + counts.updated === 0) return { ...report, filesAdded: 0, version: base.version };
  const { adds, removed } = await writeChanges(session, lake, { ...base, columns }, rows, options.now);
  const actions: Action[] = [
    commitInfoAction(options, { numInsertedRows: counts.inserted, numUpdatedRows: counts.updated }),
    ...(base.version < 0 || columns !== base.columns ? schemaActions(base, columns, options.now) : []),
    ...(options.responses ?? []).map((response) => txnAction(response, options.now)),
    ...[options.progress ?? []].flat().map((txn) => ({ txn })),
    ...removed.map((file) => removeAction(file, { now: options.now, dataChange: true })),
    ...adds.map((add) => ({ add })),
  ];
  const landing = { base, staged, compared };
  // If this throws, the commit may still have succeeded, so the written files must not be deleted.
  const after = await commitWithRetries(lake, base, {
    actions,
    stillHolds: (newest) => !hasLanded(newest, options) && !isTouched(landing, newest),
    now: options.now,
    fence: options.fence,
  });
  if (after !== undefined) return { ...report, filesAdded: adds.length, version: after.version };
  await deleteUncommitted(lake, table, adds);
  return undefined;
}

/**
 * Deletes the files of a commit that was not made. Files that the log names are not deleted: a store may have made a
 * commit that seemed to fail.
 */
export async function deleteUncommitted(
  lake: Lake,
  table: TableSchema,
  adds: readonly AddFile[],
): Promise<void> {
  const { files, removed } = await lake.snapshot(table);
  const isNamed = (path: string): boolean => files.has(path) || removed.has(path);
  await deleteDataFiles(
    lake.storage,
    table,
    adds.filter(({ path }) => !isNamed(decodePath(path))),
  );
}

/** Whether, since the comparison, a file that could contain a key of the rows was removed or added. */
function overlapsKeys({ base, staged, compared }: Landing, newest: Snapshot): boolean {
  if (compared.some(({ path }) => !newest.files.has(path))) return true;
  const added = [...newest.files.values()].filter(({ path }) => !base.files.has(path));
  return overlappingFiles(added, staged).length > 0;
}

/**
 * Whether all responses of the rows have landed.
 *
 * @throws {CommitConflict} where only some have landed: another run lands them at the same time.
 */
function hasLanded(snapshot: Snapshot, { responses = [] }: LandOptions): boolean {
  if (responses.length === 0) return false;
  const left = unlanded(snapshot, responses);
  if (left.length === 0 || left.length === responses.length) return left.length === 0;
  throw new CommitConflict(
    `table ${snapshot.table.name}: ${responses.length - left.length} of the responses were landed by another run at the same time`,
    { hint: "run the command again: it lands what is left" },
  );
}
