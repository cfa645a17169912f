import { existsSync } from "node:fs";
import { BarlakeError, LakeError } from "../core/errors.js";
import { type Known, knownRowsSql } from "../db/market/known-sql.js";
import { literal } from "../db/quote.js";
import type { Session } from "../db/session/session.js";
import { type RawView, type ShownRows, type ViewedTable, viewFault } from "../db/views/raw-view.js";
import { createViews, neededBy, type TemplateContent, templatePath } from "../db/views/views.js";
import { knownDates } from "../market/known-at.js";
import { REGION_NAMES } from "../market/regions.js";
import { CORPORATE_ACTIONS, EX_FACTORS } from "../schema/actions.js";
import { BARS_1D, BARS_1M } from "../schema/bars.js";
import type { TableSchema } from "../schema/column.js";
import { TABLES } from "../schema/tables.js";
import { runningFiles } from "./files/prune.js";
import { byteCount, knownOf, type Lake, type PointInTime, rowCount } from "./lake.js";
import { noRejectsSql, rejectsSql } from "./land/rejects.js";
import { emptySnapshot, type Snapshot } from "./log/snapshot.js";
import { type AttachedCopy, readCopiedViews } from "./sql-copy/attach-sql-copy.js";
import { NEEDED_BY_COPIED_BARS, readCopiedBars, readCopiedDays } from "./sql-copy/copied-bars.js";
import { copiedView, emptyView, hasColumnsOfSchema, viewOf } from "./viewed-table.js";

/** A table that cannot be read, and why. */
export interface RefusedTable {
  readonly table: TableSchema;
  readonly error: BarlakeError;
}

/** The tables of a lake: those that can be read, and the others. */
export interface ReadableTables {
  readonly snapshots: readonly Snapshot[];
  readonly refused: readonly RefusedTable[];
  /** Of their rows, the views show those that were known then. @default all */
  readonly known?: Known | undefined;
}

interface CreatedViews extends ReadableTables {
  readonly views: readonly RawView[];
}

/**
 * Reads every table's log. A table whose log is damaged, or needs features that this version does not support, is
 * listed in `refused`; the other tables can still be read.
 *
 * @throws {LakeError} for a version that was requested by its number and cannot be read.
 */
export async function readableTables(lake: Lake, pointInTime: PointInTime): Promise<ReadableTables> {
  for (let times = 1; ; times++) {
    const before = lake.replacements;
    const tables = await readTables(lake, pointInTime);
    // Tables that were read first may be of the former history.
    if (lake.replacements === before || times === MOST_READS) return tables;
  }
}

/** Most reads of the tables while the lake is replaced. */
const MOST_READS = 3;

async function readTables(lake: Lake, pointInTime: PointInTime): Promise<ReadableTables> {
  const read = TABLES.map((table) => lake.snapshotAt(table, pointInTime));
  const snapshots: Snapshot[] = [];
  const refused: RefusedTable[] = [];
  for (const [index, outcome] of (await Promise.allSettled(read)).entries()) {
    const table = TABLES[index] as TableSchema;
    if (outcome.status === "fulfilled") snapshots.push(outcome.value);
    else if (outcome.reason instanceof LakeError && pointInTime.versions?.has(table.name) !== true)
      refused.push({ table, error: outcome.reason });
    else throw outcome.reason;
  }
  return { snapshots, refused, known: knownOf(pointInTime) };
}

/**
 * Creates a lake's views in a session. A query of a table that cannot be read fails with the table's name and the
 * reason; other tables are not affected.
 *
 * @param statement creates only the views that this statement mentions, and those that they need. @default all views
 * @param copies the copies for SQL of this state that the session has attached: the views then read these. @default
 *   none
 * @returns the tables; `refused` may have more of them than before, because some missing or damaged files are found
 *   only here.
 */
export async function createLakeViews(
  session: Session,
  lake: Lake,
  tables: ReadableTables,
  statement?: string,
  copies: readonly AttachedCopy[] = [],
): Promise<CreatedViews> {
  try {
    return { ...tables, views: await createAll(session, lake, tables, statement, copies) };
  } catch (error) {
    const found = await withoutFaults(session, lake, tables);
    if (found.refused.length === tables.refused.length) throw error;
    return { ...found, views: await createAll(session, lake, found, statement, copies) };
  }
}

/** Moves the tables whose views cannot be created to `refused`. */
async function withoutFaults(session: Session, lake: Lake, tables: ReadableTables): Promise<ReadableTables> {
  const snapshots: Snapshot[] = [];
  const refused = [...tables.refused];
  for (const snapshot of tables.snapshots) {
    const error = await viewFault(session, viewOf(lake, snapshot));
    if (error === undefined) snapshots.push(snapshot);
    else refused.push({ table: snapshot.table, error });
  }
  return { ...tables, snapshots, refused };
}

async function createAll(
  session: Session,
  lake: Lake,
  { snapshots, refused, known }: ReadableTables,
  statement: string | undefined,
  copies: readonly AttachedCopy[],
): Promise<readonly RawView[]> {
  const { isNeeded } = neededBy(statement);
  const shown = (snapshot: Snapshot): ViewedTable => {
    const copy = copies.find(({ file }) => file.bars.snapshot.table === snapshot.table);
    const hasRows = copy !== undefined && copy.file.bars.files.length > 0;
    const all = hasRows ? copiedView(lake, snapshot, copy.file) : viewOf(lake, snapshot);
    return known === undefined ? all : { ...all, shown: shownRows(lake, snapshot, known, snapshots) };
  };
  const views = [
    ...snapshots.map((snapshot) =>
      isNeeded(snapshot.table.name) ? shown(snapshot) : emptyView(lake, snapshot),
    ),
    ...refused.map(({ table, error }): ViewedTable => {
      const reason = error.hint === undefined ? error.message : `${error.message} (${error.hint})`;
      return { ...lake.filesOf(emptySnapshot(table)), refused: reason };
    }),
  ];
  const extra = await extraViews(lake, isNeeded("tables") ? snapshots : [], known);
  const template = views.every(hasColumnsOfSchema) ? viewTemplate() : undefined;
  const copy = copies.find(({ file }) => file.kind === "minutes");
  const readsBars = copy !== undefined && known === undefined && isNeeded("minutes_query");
  const needed = readsBars && statement !== undefined ? `${statement} ${NEEDED_BY_COPIED_BARS}` : statement;
  const created = await createViews(session, views, { extra, statement: needed, template });
  const hasComments = statement === undefined;
  if (hasExDates({ snapshots, refused }) && isNeeded("has_ex_dates")) await session.run(SAYS_EX_DATES);
  // What a copy has beside the rows of tables follows from all of them.
  if (known !== undefined) return created;
  const days = copies.find(({ file }) => file.kind === "days");
  if (days !== undefined) {
    await readCopiedViews(session, isNeeded, { hasComments });
    if (hasColumnsOfSchema(days.file.bars.snapshot)) await readCopiedDays(session, isNeeded, { hasComments });
  }
  const isReadable = snapshots.some(({ table }) => table === BARS_1M);
  if (isReadable && readsBars) await readCopiedBars(session, lake, copy, { hasComments });
  return created;
}

/** The tables of which `ex_dates` is made. */
const EX_DATE_TABLES: readonly TableSchema[] = [CORPORATE_ACTIONS, EX_FACTORS];

/**
 * Whether the views read what sources say of ex-dates: also where such a table cannot be read, so that prices then fail with
 * the reason, and are not those of a lake without it.
 */
export function hasExDates({ snapshots, refused }: ReadableTables): boolean {
  const told = [...snapshots.filter(({ files }) => files.size > 0), ...refused];
  return told.some(({ table }) => EX_DATE_TABLES.includes(table));
}

/** Replaces the macro, with its comment. */
const SAYS_EX_DATES = `CREATE OR REPLACE MACRO has_ex_dates() AS true;
COMMENT ON MACRO has_ex_dates IS 'Whether the lake has corporate actions or factors of ex-events.'`;

/** The content of the template from which the views of every lake are copied. */
export const TEMPLATE: TemplateContent = {
  tables: TABLES,
  extra: { rejects: noRejectsSql(), tables: tablesSql([]) },
};

let knownKey: string | undefined;

/** Identifies the definitions of the views: the path of their template, which contains a hash of them. */
export function viewsKey(): string {
  knownKey ??= templatePath(TEMPLATE);
  return knownKey;
}

let templateFile: { readonly path: string | undefined } | undefined;

/** The path of the template of the views; undefined where it was not built. */
function viewTemplate(): string | undefined {
  if (templateFile === undefined) {
    const path = viewsKey();
    templateFile = { path: existsSync(path) ? path : undefined };
  }
  return templateFile.path;
}

function shownRows(lake: Lake, { table }: Snapshot, known: Known, snapshots: readonly Snapshot[]): ShownRows {
  const minutes = table === BARS_1D ? snapshots.find((one) => one.table === BARS_1M) : undefined;
  const files = minutes === undefined ? [] : runningFiles(minutes, known.knownAt);
  return {
    of: minutes === undefined || files.length === 0 ? [] : [lake.filesOf(minutes, files)],
    query: (rows, [running]) =>
      knownRowsSql(table, rows, known, running === undefined ? undefined : { minutes: running }),
  };
}

/**
 * The queries of the views in the schema `raw` that do not show a table, by name of the view. Of rejects and of
 * tables, those of runs that had begun, and of versions that were committed, by the time of `known` are shown.
 */
export async function extraViews(
  lake: Lake,
  snapshots: readonly Snapshot[],
  known?: Known,
): Promise<Readonly<Record<string, string>>> {
  const rejects = await rejectsSql(lake);
  if (known === undefined) return { rejects, tables: tablesSql(snapshots) };
  const until = Math.min(...REGION_NAMES.map((region) => knownDates(known.knownAt, region).until));
  return {
    // The id of a run begins with its time.
    rejects: `SELECT * FROM (${rejects}) WHERE left(run_id, 16) <= ${literal(new Date(until).toISOString().replaceAll(/[-:]|\.\d+/g, ""))}`,
    tables: tablesSql(snapshots.filter(({ committedAt = Number.POSITIVE_INFINITY }) => committedAt <= until)),
  };
}

/** The query of the view `raw.tables`: facts about each table, as literal rows. */
function tablesSql(snapshots: readonly Snapshot[]): string {
  const rows = snapshots.map((s) => {
    const at = s.committedAt === undefined ? "NULL" : `make_timestamptz(${s.committedAt * 1000})`;
    return `(${literal(s.table.name)}, ${s.version}, ${s.files.size}, ${rowCount(s)}, ${byteCount(s)}, ${at})`;
  });
  const none = rows.length === 0 ? " WHERE false" : "";
  if (rows.length === 0) rows.push("('', 0, 0, 0, 0, NULL)");
  return `SELECT name, version::BIGINT AS version, files::BIGINT AS files, "rows"::BIGINT AS "rows", bytes::BIGINT AS bytes,
    committed_at::TIMESTAMPTZ AS committed_at FROM (VALUES ${rows.join(", ")}) t(name, version, files, "rows", bytes, committed_at)${none}`;
}
