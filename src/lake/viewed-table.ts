import type { TimeRange } from "../core/time.js";
import { ident, literal } from "../db/quote.js";
import type { ViewBranch, ViewedTable } from "../db/views/raw-view.js";
import { columnOf, DUCKDB_TYPE, type PartitionSpan, type TableSchema } from "../schema/column.js";
import { partitionDates, rowDates, statedTimes } from "./files/prune.js";
import type { Lake } from "./lake.js";
import type { DataFile, Snapshot } from "./log/snapshot.js";
import { COPIES, type SqlCopyFile } from "./sql-copy/sql-copy.js";

/** A part of a table's live files, and a condition that all their rows meet according to the log and the partition. */
interface FileBranch {
  readonly files: readonly DataFile[];
  /** The condition in SQL; undefined where nothing is known. */
  readonly where: string | undefined;
}

/** With fewer files than this on a disk, opening all of them takes a query less time than planning over branches. */
const LEAST_FILES = 32;
/** Least average number of files in each branch. */
const FILES_A_BRANCH = 4;
/**
 * The same limits for files in a store, where it takes two requests to open a file. With fewer than
 * {@link LEAST_FILES}, branches have no condition on timestamps: DuckDB would read the column of each condition, with
 * one more request for each row group.
 */
const STORE = { leastFiles: 2, filesABranch: 1 };
/** Most branches of a view: each adds about half a millisecond of planning to a query. */
const MOST_BRANCHES = 24;

/**
 * Divides a table's files by time, so that a view can have a branch for each part. DuckDB skips files by conditions on
 * partition columns, but users write conditions on dates and timestamps. The planner drops a branch, with all its
 * files, if the dates or timestamps of the branch do not overlap those of the query. Where there are many partitions,
 * consecutive ones share a branch.
 *
 * @param isInStore whether the files are in an object store.
 * @returns undefined where a single list is better: for few files, or a table without a partition by time.
 */
export function viewBranches({ table, files }: Snapshot, isInStore = false): FileBranch[] | undefined {
  const { span } = table;
  const { leastFiles, filesABranch } = isInStore
    ? STORE
    : { leastFiles: LEAST_FILES, filesABranch: FILES_A_BRANCH };
  if (span === undefined || files.size < leastFiles) return undefined;
  const byStart = new Map<string, { next: string; members: DataFile[] }>();
  const unknown: DataFile[] = [];
  const known = new Map<string | null | undefined, ReturnType<typeof partitionDates>>();
  for (const file of files.values()) {
    const value = file.partitionValues[span.partition];
    if (!known.has(value)) known.set(value, partitionDates(span, file));
    const dates = rowDates(span, file, known.get(value));
    if (dates === undefined) {
      unknown.push(file);
      continue;
    }
    const part = byStart.get(dates.first);
    if (part === undefined) byStart.set(dates.first, { next: dates.next, members: [file] });
    else part.members.push(file);
  }
  const starts = [...byStart.keys()].sort();
  const most = Math.min(MOST_BRANCHES, Math.floor(files.size / filesABranch));
  const step = Math.ceil(starts.length / most);
  const branches: FileBranch[] = [];
  for (let at = 0; at < starts.length; at += step) {
    const own = starts.slice(at, at + step);
    const members = own.flatMap((start) => byStart.get(start)?.members ?? []);
    const bounds = files.size < LEAST_FILES ? [] : statsSql(table, members);
    const days = daysSql(span, own[0] as string, byStart.get(own.at(-1) as string)?.next as string);
    branches.push({ files: members, where: [days, ...bounds].join(" AND ") });
  }
  if (unknown.length > 0) branches.push({ files: unknown, where: undefined });
  return branches.length > 1 ? branches : undefined;
}

/** Files of a table as one branch. @param files at least one; of partitions whose dates are known. */
function branchOf(table: TableSchema, files: readonly DataFile[]): FileBranch {
  const { span } = table;
  const dates = span === undefined ? [] : files.flatMap((file) => partitionDates(span, file) ?? []);
  const [first] = dates.map((one) => one.first).sort();
  const next = dates
    .map((one) => one.next)
    .sort()
    .at(-1);
  if (span === undefined || first === undefined || next === undefined) return { files, where: undefined };
  return { files, where: [daysSql(span, first, next), ...statsSql(table, files)].join(" AND ") };
}

function daysSql({ date }: PartitionSpan, first: string, end: string): string {
  return `${ident(date)} >= DATE ${literal(first)} AND ${ident(date)} < DATE ${literal(end)}`;
}

/**
 * Conditions on the timestamp columns with statistics in the log. A column has none if one of the files does not state
 * its range.
 */
function statsSql(table: TableSchema, files: readonly DataFile[]): string[] {
  return table.stats
    .filter((name) => columnOf(table, name).type === "timestamp")
    .flatMap((name) => {
      const range = rangeOf(name, files);
      if (range === undefined) return [];
      return [`${ident(name)} >= ${instantSql(range.start)} AND ${ident(name)} < ${instantSql(range.end)}`];
    });
}

/** The range of a timestamp column in files; undefined where one of the files does not state it. */
function rangeOf(name: string, files: readonly DataFile[]): TimeRange | undefined {
  let [start, end] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const file of files) {
    const stated = statedTimes(file, name);
    if (stated === undefined) return undefined;
    start = Math.min(start, stated.start);
    end = Math.max(end, stated.end);
  }
  return { start, end };
}

function instantSql(epochMs: number): string {
  return `${DUCKDB_TYPE.timestamp} ${literal(new Date(epochMs).toISOString())}`;
}

/** The source of a table's view: its live files, in branches by time where that makes queries faster. */
export function viewOf(lake: Lake, snapshot: Snapshot): ViewedTable {
  const branches = viewBranches(snapshot, isLakeInStore(lake));
  if (branches === undefined) return lake.filesOf(snapshot);
  return {
    ...emptyView(lake, snapshot),
    branches: branches.map((branch) => fileRows(lake, snapshot, branch)),
  };
}

/**
 * The source of a table's view in a session that has attached a copy for SQL: the copied rows, and the files that are
 * not in the copy. These are of older or of newer months, so that a query of copied months reads no rows of them.
 */
export function copiedView(
  lake: Lake,
  snapshot: Snapshot,
  { kind, bars }: Pick<SqlCopyFile, "kind" | "bars">,
): ViewedTable {
  const columns = snapshot.columns.map(({ name }) => ident(name)).join(", ");
  const copied = `SELECT ${columns} FROM ${COPIES[kind].database}.${ident(snapshot.table.name)}`;
  const empty = emptyView(lake, snapshot);
  if (bars.files.length === snapshot.files.size) return { ...empty, copied };
  const own = branchOf(snapshot.table, bars.files);
  const inCopy = new Set(bars.files.map(({ path }) => path));
  const others = [...snapshot.files.values()].filter(({ path }) => !inCopy.has(path));
  const filesOf = (isPart: (file: DataFile) => boolean): ViewBranch[] => {
    const files = others.filter(isPart);
    if (files.length === 0) return [];
    const part = { ...snapshot, files: new Map(files.map((file) => [file.path, file])) };
    const branches = viewBranches(part, isLakeInStore(lake)) ?? [branchOf(snapshot.table, files)];
    return branches.map((branch) => fileRows(lake, snapshot, branch));
  };
  const [first] = bars.files.map(monthOf).sort();
  const isOlder = (file: DataFile): boolean => monthOf(file) < (first ?? "");
  const branches = [
    ...filesOf(isOlder),
    { rows: copied, where: own.where },
    ...filesOf((file) => !isOlder(file)),
  ];
  return { ...empty, branches };
}

/** Whether a table has exactly the columns that this version knows: another version may have added some. */
export function hasColumnsOfSchema({ table, columns }: Pick<ViewedTable, "table" | "columns">): boolean {
  return (
    columns.length === table.columns.length &&
    columns.every(
      ({ name, type }, at) => name === table.columns[at]?.name && type === table.columns[at]?.type,
    )
  );
}

export function emptyView(lake: Lake, snapshot: Snapshot): ViewedTable {
  return lake.filesOf(snapshot, []);
}

function fileRows(lake: Lake, snapshot: Snapshot, { files, where }: FileBranch): ViewBranch {
  return { rows: lake.filesOf(snapshot, files), where };
}

function monthOf({ partitionValues }: DataFile): string {
  return partitionValues.month ?? "";
}

function isLakeInStore(lake: Lake): boolean {
  return lake.storage.access !== undefined;
}
