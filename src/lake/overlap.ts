import { ident, literal } from "../db/quote.js";
import type { Session } from "../db/session.js";
import { columnOf, type TableSchema } from "../schema/column.js";
import type { DataFile } from "./snapshot.js";

/** One partition of a temporary table: its values as the log writes them, and the condition that selects its rows. */
export interface StagedPartition {
  readonly values: Readonly<Record<string, string>>;
  readonly where: string;
}

/** What the staged rows of one partition span, in the text form of the log's statistics. */
export interface StagedRange {
  readonly values: Readonly<Record<string, string>>;
  readonly min: Readonly<Record<string, string>>;
  readonly max: Readonly<Record<string, string>>;
}

/** The partitions that the rows of a temporary table belong to; ascending. */
export async function partitionsOf(
  session: Session,
  table: TableSchema,
  staged: string,
): Promise<StagedPartition[]> {
  const names = table.partition.map((name) => `CAST(${ident(name)} AS VARCHAR) AS ${ident(name)}`);
  const rows = await session.json<Record<string, string>>(
    `SELECT DISTINCT ${names.join(", ")} FROM ${ident(staged)} ORDER BY ALL`,
  );
  return rows.map((values) => {
    const tests = Object.entries(values).map(([name, value]) => `${ident(name)} = ${literal(value)}`);
    return { values, where: tests.join(" AND ") };
  });
}

/** What the staged rows of each partition span: smallest and largest value of the columns that the log keeps. */
export async function stagedRanges(
  session: Session,
  table: TableSchema,
  staged: string,
): Promise<StagedRange[]> {
  const keys = table.stats.filter((name) => table.key.includes(name));
  const select = keys.flatMap((name) => [
    `${statSql(table, name, "min")} AS ${ident(`min_${name}`)}`,
    `${statSql(table, name, "max")} AS ${ident(`max_${name}`)}`,
  ]);
  const partition = table.partition.map((name) => `CAST(${ident(name)} AS VARCHAR) AS ${ident(name)}`);
  const rows = await session.json<Record<string, string>>(
    `SELECT ${[...partition, ...select].join(", ")} FROM ${ident(staged)} GROUP BY ALL`,
  );
  return rows.map((row) => {
    const pick = (names: readonly string[], prefix = ""): Record<string, string> =>
      Object.fromEntries(names.map((name) => [name, row[`${prefix}${name}`] as string]));
    return { values: pick(table.partition), min: pick(keys, "min_"), max: pick(keys, "max_") };
  });
}

/**
 * Of some files, those that could hold a key of the staged rows: same partition, and ranges that meet in every column
 * that the log keeps statistics of. A file without statistics could hold any.
 */
export function overlappingFiles(files: Iterable<DataFile>, ranges: readonly StagedRange[]): DataFile[] {
  return [...files].filter((file) => ranges.some((range) => meets(file, range)));
}

function meets(file: DataFile, range: StagedRange): boolean {
  for (const [name, value] of Object.entries(range.values)) {
    if (file.partitionValues[name] !== value) return false;
  }
  for (const name of Object.keys(range.min)) {
    const min = file.stats?.minValues?.[name];
    const max = file.stats?.maxValues?.[name];
    if (min === undefined || max === undefined) continue;
    if (max < (range.min[name] as string) || min > (range.max[name] as string)) return false;
  }
  return true;
}

/** A minimum or maximum in the text form of the log's statistics, so that texts compare as the values do. */
function statSql(table: TableSchema, name: string, side: "min" | "max"): string {
  const value = `${side}(${ident(name)})`;
  return columnOf(table, name).type === "timestamp"
    ? `strftime(${value} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%gZ')`
    : `CAST(${value} AS VARCHAR)`;
}
