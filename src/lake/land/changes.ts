import { exactSharesSql } from "../../db/market/bar-sql.js";
import { ident } from "../../db/quote.js";
import type { Session, TempTable } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import { type Column, DUCKDB_TYPE, type TableSchema } from "../../schema/column.js";
import { deleteDataFiles, writeDataFile } from "../files/data-file.js";
import { columnsOfScan } from "../files/parquet/write-rows.js";
import type { Lake } from "../lake.js";
import type { AddFile } from "../log/delta-actions.js";
import type { DataFile, Snapshot } from "../log/snapshot.js";
import {
  rowsOf,
  type StagedColumns,
  type StagedPartition,
  type StagedRows,
  stagedTable,
} from "./staged-rows.js";

/** Most updated rows that a report shows as examples. */
const SAMPLE_ROWS = 5;

/** A row that a landing replaced. Values are texts; null where there was no value. */
export interface RowChange {
  readonly key: Readonly<Record<string, string>>;
  /** The columns that differ, by name. */
  readonly changed: Readonly<Record<string, { readonly from: string | null; readonly to: string | null }>>;
}

/**
 * The rows that a landing writes. `new`: all staged rows, as the table has none of their keys. `differing`: the staged
 * rows that are new or have other content, as a table whose column `live_file` names the file of the older row.
 */
interface ChangedRows extends StagedRows {
  readonly kind: "new" | "differing";
}

/** The staged rows that differ from the table, and the numbers of new, updated and unchanged rows. */
interface Changes {
  readonly rows: ChangedRows;
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  /** The first of the updated rows. */
  readonly sample: readonly RowChange[];
}

/**
 * Compares staged rows with the live rows of the same keys.
 *
 * @param live the live files that could contain one of the keys, verified.
 * @param columns the table's columns once the rows have landed.
 * @param differing the temporary table for rows that differ; it is filled only if there are files in `live`.
 * @param merge whether a null in a staged row keeps the live row's value.
 */
export async function findChanges(
  session: Session,
  lake: Lake,
  base: Snapshot,
  live: readonly DataFile[],
  columns: readonly Column[],
  staged: StagedRows,
  differing: TempTable,
  merge: "keep" | "replace" = "replace",
): Promise<Changes> {
  const offered = rowsOf(staged);
  if (live.length === 0) {
    const rows = merge === "keep" ? completed(base.table, staged) : staged;
    return { rows: { ...rows, kind: "new" }, inserted: offered, updated: 0, unchanged: 0, sample: [] };
  }
  const { table } = base;
  const stagedRows = selectAs(columns, staged.columns, staged.from);
  const liveRows = await parquetRelation(session, lake.filesOf(base, live), { withFile: true });
  const content = columns.filter((c) => !table.key.includes(c.name) && !table.partition.includes(c.name));
  const differs = content.map((column) =>
    base.columns.includes(column)
      ? `s.${ident(column.name)} IS DISTINCT FROM l.${ident(column.name)}`
      : `s.${ident(column.name)} IS NOT NULL`,
  );
  const compared = `FROM (${stagedRows}) s LEFT JOIN (${liveRows}) l ON ${sameKey(table, "s", "l")}`;
  await differing.fill(
    merge === "keep"
      ? keptSql(base, columns, content, compared)
      : `SELECT s.*, l.live_file ${compared} WHERE l.live_file IS NULL OR ${differs.join(" OR ")}`,
  );
  const [counts] = await session.json<{ inserted: bigint; updated: bigint }>(
    `SELECT count(*) FILTER (live_file IS NULL) AS inserted, count(live_file) AS updated FROM ${differing.name}`,
  );
  const inserted = Number(counts?.inserted);
  const updated = Number(counts?.updated);
  const sample =
    updated === 0 ? [] : await sampleOf(session, table, differing.name, liveRows, content, base.columns);
  const types = new Map(columns.map(({ name, type }) => [name, DUCKDB_TYPE[type]]));
  const rows = await stagedTable(session, table, differing.name, types);
  return {
    rows: { ...rows, kind: "differing" },
    inserted,
    updated,
    unchanged: offered - inserted - updated,
    sample,
  };
}

/**
 * SQL of the value that a row gets which keeps what the delivery does not say.
 *
 * @param live SQL of the live row's value of a column; NULL where there is no live row.
 */
function keptValue(name: string, live: (name: string) => string, isBar: boolean): string {
  const value = `coalesce(s.${ident(name)}, ${live(name)})`;
  if (!isBar) return value;
  // A volume and its unit are one value: the same number of shares is no change.
  const isSame = `${exactSharesSql("s.volume", "s.lot")} = ${exactSharesSql(live("volume"), live("lot"))}`;
  if (name === "volume" || name === "lot")
    return `CASE WHEN ${isSame} THEN ${live(name)} ELSE s.${ident(name)} END`;
  if (name === "is_final") return `coalesce(s.is_final OR ${live(name)}, s.is_final)`;
  return name === "amount" ? `coalesce(${value}, 0)` : value;
}

/** SQL of the staged rows that are new, or differ from their live row in what they say. */
function keptSql(
  base: Snapshot,
  columns: readonly Column[],
  content: readonly Column[],
  compared: string,
): string {
  const isContent = new Set(content.map(({ name }) => name));
  const isBar = areBars(base.table);
  const live = (name: string): string =>
    base.columns.some((one) => one.name === name) ? `l.${ident(name)}` : "NULL";
  const select = columns.map(({ name, type }) => {
    const value = isContent.has(name) ? keptValue(name, live, isBar) : `s.${ident(name)}`;
    return `CAST(${value} AS ${DUCKDB_TYPE[type]}) AS ${ident(name)}`;
  });
  const differs = content.map(
    ({ name }) => `(${keptValue(name, live, isBar)}) IS DISTINCT FROM ${live(name)}`,
  );
  return `SELECT ${select.join(", ")}, l.live_file ${compared} WHERE l.live_file IS NULL OR ${differs.join(" OR ")}`;
}

function areBars({ columns }: TableSchema): boolean {
  return columns.some(({ name }) => name === "lot");
}

/** Staged rows of which none has a live row, with the values that stand for missing ones. */
function completed(table: TableSchema, staged: StagedRows): StagedRows {
  if (!areBars(table) || !staged.columns.has("amount")) return staged;
  const complete = (from: string): string =>
    `(SELECT * REPLACE (coalesce(amount, 0) AS amount) FROM ${from})`;
  return {
    ...staged,
    from: complete(staged.from),
    partitions: staged.partitions.map((partition) => ({ ...partition, from: complete(partition.from) })),
  };
}

/**
 * A SELECT of the given columns from a table expression, cast to their types; a missing column is null.
 *
 * @param present the columns of the table expression.
 * @param also names of other columns that the SELECT passes on.
 */
export function selectAs(
  columns: readonly Column[],
  present: StagedColumns,
  from: string,
  also: readonly string[] = [],
): string {
  const list = columns.map(
    ({ name, type }) =>
      `CAST(${present.has(name) ? ident(name) : "NULL"} AS ${DUCKDB_TYPE[type]}) AS ${ident(name)}`,
  );
  return `SELECT ${[...list, ...also.map(ident)].join(", ")} FROM ${from}`;
}

/** The SQL condition that a row of `a` and a row of `b` have the same key. */
function sameKey(table: TableSchema, a: string, b: string): string {
  return table.key
    .map((name) => `${a}.${ident(name)} IS NOT DISTINCT FROM ${b}.${ident(name)}`)
    .join(" AND ");
}

async function sampleOf(
  session: Session,
  table: TableSchema,
  differing: string,
  liveRows: string,
  content: readonly Column[],
  known: readonly Column[],
): Promise<RowChange[]> {
  const keys = table.key.map((name) => `CAST(d.${ident(name)} AS VARCHAR) AS ${ident(name)}`);
  const values = content.flatMap((column, index) => [
    `${known.includes(column) ? `CAST(l.${ident(column.name)} AS VARCHAR)` : "NULL"} AS from_${index}`,
    `CAST(d.${ident(column.name)} AS VARCHAR) AS to_${index}`,
  ]);
  const rows = await session.json<Record<string, string | null>>(
    `SELECT ${[...keys, ...values].join(", ")}
     FROM (SELECT * FROM ${differing} WHERE live_file IS NOT NULL ORDER BY ${table.sort.map(ident).join(", ")} LIMIT ${SAMPLE_ROWS}) d
     JOIN (${liveRows}) l ON ${sameKey(table, "d", "l")}
     ORDER BY ${table.sort.map((name) => `d.${ident(name)}`).join(", ")}`,
  );
  return rows.map((row) => ({
    key: Object.fromEntries(table.key.map((name) => [name, row[name] ?? ""])),
    changed: Object.fromEntries(
      content.flatMap(({ name }, index) => {
        const [from, to] = [row[`from_${index}`] ?? null, row[`to_${index}`] ?? null];
        return from === to ? [] : [[name, { from, to }]];
      }),
    ),
  }));
}

/** Files that a landing adds to a table, and the files that these replace. */
interface WrittenChanges {
  readonly adds: readonly AddFile[];
  readonly removed: readonly DataFile[];
}

/**
 * Writes changed rows as one file for each partition, together with all other rows of the live files that contain an
 * older row. Nothing is committed.
 *
 * @param now epoch milliseconds.
 */
export async function writeChanges(
  session: Session,
  lake: Lake,
  next: Snapshot,
  changes: ChangedRows,
  now: number,
): Promise<WrittenChanges> {
  const { partitions } = changes;
  // Only files with replaced rows are looked up by URL: a table may have very many files.
  const byUrl =
    changes.kind === "differing"
      ? new Map([...next.files.values()].map((file) => [lake.urlOf(next, file), file]))
      : undefined;
  const added = new Map<StagedPartition, AddFile>();
  const removed: DataFile[] = [];
  const write = async (own: Session, partition: StagedPartition): Promise<void> => {
    const { from, values, layout } = partition;
    const changed = selectAs(next.columns, changes.columns, from, layout && columnsOfScan(layout));
    const touched =
      byUrl !== undefined
        ? await own.json<{ live_file: string }>(
            `SELECT DISTINCT live_file FROM ${from} WHERE live_file IS NOT NULL`,
          )
        : [];
    const files = touched.map((row) => byUrl?.get(row.live_file) as DataFile);
    removed.push(...files);
    const rows =
      files.length === 0 ? changed : await rewritten(own, lake, next, files, { changed, keys: changes.from });
    added.set(partition, await writeDataFile(own, lake, next, rows, values, { as: "landed", now, layout }));
  };
  try {
    if (partitions.every(({ layout }) => layout !== undefined)) await twoAtATime(session, partitions, write);
    else for (const partition of partitions) await write(session, partition);
  } catch (error) {
    await deleteDataFiles(lake.storage, next.table, [...added.values()]);
    throw error;
  }
  return { adds: partitions.map((partition) => added.get(partition) as AddFile), removed };
}

/**
 * Writes partitions that are scans, which sibling sessions can read too, two at a time. While the last rows of one are
 * compressed, and its file is hashed and made durable, the next one uses the cores. All writes have ended before an
 * error is thrown.
 */
async function twoAtATime(
  session: Session,
  partitions: readonly StagedPartition[],
  write: (own: Session, partition: StagedPartition) => Promise<void>,
): Promise<void> {
  const waiting = [...partitions];
  const work = async (own: Session): Promise<void> => {
    try {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await write(own, one);
    } finally {
      waiting.length = 0;
    }
  };
  using sibling = await session.sibling();
  const ended = await session.inAnyOrder(() => Promise.allSettled([work(session), work(sibling)]));
  const failed = ended.find(({ status }) => status === "rejected");
  if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
}

/**
 * SQL of the rows of live files, in which changed rows replace the older ones.
 *
 * @param rows.changed a SELECT of the changed rows of the files' partition.
 * @param rows.keys a table expression with the keys of all changed rows.
 */
async function rewritten(
  session: Session,
  lake: Lake,
  next: Snapshot,
  files: readonly DataFile[],
  { changed, keys }: { readonly changed: string; readonly keys: string },
): Promise<string> {
  const live = await parquetRelation(session, lake.filesOf(next, files));
  return `SELECT l.* FROM (${live}) l ANTI JOIN ${keys} d ON ${sameKey(next.table, "d", "l")} UNION ALL ${changed}`;
}
