import { ident, literal } from "../db/quote.js";
import { columnOf, DUCKDB_TYPE, type PartitionSpan, type TableSchema } from "../schema/column.js";
import type { DataFile, Snapshot } from "./snapshot.js";

/** Some of a table's live files, and what the log and the partition say of all their rows. */
export interface FileBranch {
  readonly files: readonly DataFile[];
  /** SQL; undefined where nothing is known. */
  readonly where: string | undefined;
}

/** Below so many files, opening each costs a query less than planning over branches does. */
const LEAST_FILES = 32;
/** Files that a branch has on average, at least. */
const FILES_A_BRANCH = 4;
/** A query pays about half a millisecond for each when it is planned. */
const MOST_BRANCHES = 24;

/**
 * Divides a table's files by time, so that a view can have a branch for each part. DuckDB skips files by conditions on
 * partition columns; users write conditions on dates and timestamps. A branch that says in which range these lie is
 * dropped, with all its files, while a query is planned whose own range is another. Consecutive partitions share a
 * branch where there are many.
 *
 * @returns undefined where a single list serves better: few files, or a table without a partition by time.
 */
export function viewBranches({ table, files }: Snapshot): FileBranch[] | undefined {
  const { span } = table;
  if (span === undefined || files.size < LEAST_FILES) return undefined;
  const byStart = new Map<string, DataFile[]>();
  const unknown: DataFile[] = [];
  for (const file of files.values()) {
    const start = startOf(span, file);
    if (start === undefined) unknown.push(file);
    else byStart.set(start, [...(byStart.get(start) ?? []), file]);
  }
  const starts = [...byStart.keys()].sort();
  const most = Math.min(MOST_BRANCHES, Math.floor(files.size / FILES_A_BRANCH));
  const step = Math.ceil(starts.length / most);
  const branches: FileBranch[] = [];
  for (let at = 0; at < starts.length; at += step) {
    const own = starts.slice(at, at + step);
    const members = own.flatMap((start) => byStart.get(start) ?? []);
    const days = daysSql(span, own[0] as string, own.at(-1) as string);
    branches.push({ files: members, where: [days, ...statsSql(table, members)].join(" AND ") });
  }
  if (unknown.length > 0) branches.push({ files: unknown, where: undefined });
  return branches.length > 1 ? branches : undefined;
}

/** First day of a file's partition; undefined where its value is null or another writer's own. */
function startOf({ partition, unit }: PartitionSpan, { partitionValues }: DataFile): string | undefined {
  const value = partitionValues[partition] ?? "";
  if (unit === "month") return /^\d{4}-\d{2}-01$/.test(value) ? value : undefined;
  return /^\d{4}$/.test(value) ? `${value}-01-01` : undefined;
}

/** @param last first day of the last partition. */
function daysSql({ unit, date }: PartitionSpan, first: string, last: string): string {
  const end = new Date(last);
  if (unit === "month") end.setUTCMonth(end.getUTCMonth() + 1);
  else end.setUTCFullYear(end.getUTCFullYear() + 1);
  const [name, day] = [ident(date), end.toISOString().slice(0, 10)];
  return `${name} >= DATE ${literal(first)} AND ${name} < DATE ${literal(day)}`;
}

/** The ranges of the timestamps that the log keeps statistics of; none where a file has no statistics. */
function statsSql(table: TableSchema, files: readonly DataFile[]): string[] {
  return table.stats
    .filter((name) => columnOf(table, name).type === "timestamp")
    .flatMap((name) => {
      const min = Math.min(...files.map(({ stats }) => Date.parse(stats?.minValues?.[name] ?? "")));
      const max = Math.max(...files.map(({ stats }) => Date.parse(stats?.maxValues?.[name] ?? "")));
      if (!Number.isFinite(min) || !Number.isFinite(max)) return [];
      // The protocol allows writers to cut microseconds off.
      return [`${ident(name)} >= ${instantSql(min)} AND ${ident(name)} < ${instantSql(max + 1)}`];
    });
}

function instantSql(epochMs: number): string {
  return `${DUCKDB_TYPE.timestamp} ${literal(new Date(epochMs).toISOString())}`;
}
