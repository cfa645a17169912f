import { regionSql } from "../../../db/market/region-sql.js";
import { ident, literal, literalList } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import { CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES } from "../../../schema/actions.js";
import { BARS_1D, BARS_1M } from "../../../schema/bars.js";
import { type Column, DUCKDB_TYPE, type TableSchema } from "../../../schema/column.js";
import { subjectOf } from "../../../schema/reference.js";
import { REQUESTS, RUNS } from "../../../schema/runs.js";
import { isStatementName } from "../../../schema/statements.js";
import type { Lake } from "../../lake.js";
import { statSql } from "../../land/staged-rows.js";
import type { DataFile, Snapshot } from "../../log/snapshot.js";
import { overlappingVersions } from "../repair-versions.js";
import { type Find, readableStats } from "./check-files.js";
import { type Finding, FOREIGN, RESTORE_LOG } from "./finding.js";

interface RowFacts {
  readonly rows: number;
  /** Whether the rows are in the table's order: then repeats of the sort columns are adjacent. */
  readonly isSorted: boolean;
  /** Rows whose sort columns equal those of the row before. */
  readonly repeats: number;
  /** Smallest and greatest values by column, in the text form of the log's statistics; absent where all are null. */
  readonly min: Readonly<Record<string, string>>;
  readonly max: Readonly<Record<string, string>>;
}

/** SQL that reads one Parquet file, without values from folder names. */
function fileSource(url: string): string {
  return `read_parquet(${literalList([url])}, hive_partitioning = false)`;
}

/**
 * Reads every value of a live file once, and checks its columns, the number and order of its rows, their bounds, and
 * nulls in required columns.
 *
 * @returns undefined where the file lacks a column that these checks need.
 * @throws {QueryError} when the file is not readable.
 */
export async function checkRows(
  session: Session,
  snapshot: Snapshot,
  file: DataFile,
  url: string,
  find: Find,
): Promise<RowFacts | undefined> {
  const { table } = snapshot;
  const columns = snapshot.columns.filter(({ name }) => !table.partition.includes(name));
  const present = await checkColumns(session, table, columns, url, find);
  const needed = [...table.key, ...table.sort, ...table.stats];
  if (needed.some((name) => !present.has(name))) return undefined;
  const read = columns.filter(({ name }) => present.has(name));
  const [row] = await session.json<Record<string, bigint | string | null>>(
    rowsSql(
      table,
      read,
      table.partition.filter((name) => derivedSql(table, name)),
      file,
      url,
    ),
  );
  const number = (name: string): number => Number(row?.[name] ?? 0);
  const rows = number("rows");
  for (const [index, { name, nullable }] of read.entries()) {
    const nulls = rows - number(`values_${index}`);
    if (nulls > 0 && nullable !== true)
      find("null_in_required", `has ${nulls} rows without ${name}, which every row must have`, FOREIGN);
  }
  const values = (side: "min" | "max"): Record<string, string> =>
    Object.fromEntries(
      table.stats.flatMap((name) => {
        const value = row?.[`${side}_${name}`];
        return typeof value === "string" ? [[name, value]] : [];
      }),
    );
  const facts = {
    rows,
    isSorted: number("unsorted") === 0,
    repeats: number("repeats"),
    min: values("min"),
    max: values("max"),
  };
  for (const name of table.partition) {
    const stray = number(`stray_${name}`);
    if (stray > 0)
      find(
        "partition_rows",
        `has ${stray} rows that do not belong to ${name} ${file.partitionValues[name]}`,
        FOREIGN,
      );
  }
  const unsorted = number("unsorted");
  if (unsorted > 0)
    find(
      "not_sorted",
      `is not sorted by ${table.sort.join(", ")}: ${unsorted} rows come before a smaller one`,
      FOREIGN,
      "warning",
    );
  compareStatistics(file, facts, find);
  return facts;
}

/** Adds findings for columns that differ from the table's. @returns the names of the file's columns. */
async function checkColumns(
  session: Session,
  table: TableSchema,
  columns: readonly Column[],
  url: string,
  find: Find,
): Promise<Set<string>> {
  const described = await session.json<{ column_name: string; column_type: string }>(
    `DESCRIBE SELECT * FROM ${fileSource(url)}`,
  );
  const types = new Map(described.map((one) => [one.column_name, one.column_type]));
  for (const { name, type, nullable } of columns) {
    const found = types.get(name);
    // A column that was added to a table is absent in files that were written before.
    if (found === undefined) {
      const isAdded = table.open === true || table.columns.find((one) => one.name === name)?.isAdded === true;
      if (nullable !== true || !isAdded) find("columns", `lacks the column ${name}`, FOREIGN);
    } else if (!TYPES_OF[type].includes(found))
      find("columns", `has the column ${name} as ${found}, not as ${DUCKDB_TYPE[type]}`, FOREIGN);
  }
  const known = new Set([...columns.map(({ name }) => name), ...table.partition]);
  const more = described.filter((one) => !known.has(one.column_name)).map((one) => one.column_name);
  if (more.length > 0)
    find("columns", `has columns that the table does not know: ${more.join(", ")}`, FOREIGN, "warning");
  return new Set(types.keys());
}

/** DuckDB's names of each column type. Old writers store timestamps without a zone: these are in UTC. */
const TYPES_OF: Readonly<Record<Column["type"], readonly string[]>> = {
  string: ["VARCHAR"],
  double: ["DOUBLE"],
  int64: ["BIGINT"],
  int32: ["INTEGER"],
  boolean: ["BOOLEAN"],
  date: ["DATE"],
  timestamp: ["TIMESTAMP WITH TIME ZONE", "TIMESTAMP"],
  "string[]": ["VARCHAR[]"],
};

function rowsSql(
  table: TableSchema,
  columns: readonly Column[],
  derived: readonly string[],
  file: DataFile,
  url: string,
): string {
  const key = `{${table.sort.map((name) => `${literal(name)}: ${ident(name)}`).join(", ")}}`;
  const select = [
    "count(*) AS rows",
    ...columns.map(({ name }, index) => `count(${ident(name)}) AS values_${index}`),
    ...table.stats.flatMap((name) => [
      `${statSql(table, name, "min")} AS ${ident(`min_${name}`)}`,
      `${statSql(table, name, "max")} AS ${ident(`max_${name}`)}`,
    ]),
    "count(*) FILTER (sort_key < sort_key_before) AS unsorted",
    "count(*) FILTER (sort_key = sort_key_before) AS repeats",
    ...derived.map(
      (name) =>
        `count(*) FILTER (${derivedSql(table, name)} IS DISTINCT FROM ${partitionSql(table, file, name)}) AS ${ident(`stray_${name}`)}`,
    ),
  ];
  return `SELECT ${select.join(", ")} FROM (
    SELECT *, ${key} AS sort_key, lag(${key}) OVER () AS sort_key_before FROM ${fileSource(url)})`;
}

const OF_ACTIONS: ReadonlySet<string> = new Set(
  [CORPORATE_ACTIONS, EX_FACTORS, SYMBOL_CHANGES].map(({ name }) => name),
);

/** SQL that derives a partition column from other columns; undefined where the table does not derive it. */
function derivedSql({ name: table }: TableSchema, name: string): string | undefined {
  const isBars = table === BARS_1D.name || table === BARS_1M.name;
  const hasRegion = isBars || isStatementName(table) || OF_ACTIONS.has(table);
  if (name === "region") return hasRegion ? regionSql("symbol") : undefined;
  if (name === "year") return isBars ? "year(trade_date)" : undefined;
  if (isBars) return "CAST(date_trunc('month', trade_date) AS DATE)";
  if (table === REQUESTS.name) return "CAST(date_trunc('month', asked_at) AS DATE)";
  return table === RUNS.name ? "CAST(date_trunc('month', started_at) AS DATE)" : undefined;
}

function partitionSql({ columns }: TableSchema, { partitionValues }: DataFile, name: string): string {
  const type = columns.find((column) => column.name === name)?.type ?? "string";
  return `TRY_CAST(${literal(partitionValues[name] ?? "")} AS ${DUCKDB_TYPE[type]})`;
}

function compareStatistics(file: DataFile, { rows, min, max }: RowFacts, find: Find): void {
  const stats = readableStats(file);
  if (stats === undefined || stats === "unreadable") return;
  if (stats.numRecords !== rows)
    find("row_count", `has ${rows} rows, and ${stats.numRecords} by the log`, RESTORE_LOG);
  for (const [side, stated, found] of [
    ["least", stats.minValues, min],
    ["greatest", stats.maxValues, max],
  ] as const) {
    for (const [name, value] of Object.entries(stated ?? {})) {
      const actual = found[name];
      if (actual === undefined || typeof value !== "string" || sameValue(value, actual)) continue;
      const hides = side === "least" ? actual < value : actual > value;
      find(
        "statistics_wrong",
        `has ${actual} as its ${side} ${name}, and ${value} by the log`,
        RESTORE_LOG,
        // Bounds that are too wide only cost time; other writers have such bounds where they shorten long texts.
        hides ? "error" : "warning",
      );
    }
  }
}

/** Whether two values are the same: other writers write times with more digits, or in another zone. */
function sameValue(stated: string, actual: string): boolean {
  return (
    stated === actual ||
    (/^\d{4}-\d{2}-\d{2}T/.test(actual) && Math.floor(Date.parse(stated)) === Date.parse(actual))
  );
}

export interface ReadFile {
  readonly file: DataFile;
  readonly facts: RowFacts;
}

/**
 * Finds keys that occur more than once in a partition. Files whose ranges do not overlap cannot share a key, and a
 * sorted file shows its own repeats. So only keys of files that overlap, or are not sorted, are compared, group by
 * group; what does not fit into memory is spilled.
 *
 * @param files of one partition.
 */
export async function checkKeys(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  files: readonly ReadFile[],
): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const group of overlappingGroups(snapshot.table, files)) {
    if (isSettled(snapshot.table, group)) continue;
    const found = await duplicates(session, lake, snapshot, group);
    if (found !== undefined) findings.push(found);
  }
  return findings;
}

/** Whether a group is a single file whose rows, when they were read, showed that its keys are unique. */
function isSettled({ key, sort }: TableSchema, group: readonly ReadFile[]): boolean {
  const [one] = group;
  if (one === undefined || group.length > 1 || !one.facts.isSorted) return false;
  return one.facts.repeats === 0 && sort.every((name) => key.includes(name));
}

/** Groups of overlapping files: files of different groups share no key. */
function overlappingGroups(table: TableSchema, files: readonly ReadFile[]): ReadFile[][] {
  const columns = table.stats.filter((name) => table.key.includes(name));
  let groups: ReadFile[][] = [];
  for (const file of files) {
    const isMet = (group: readonly ReadFile[]): boolean => group.some((one) => meets(columns, one, file));
    const met = groups.filter(isMet);
    groups = [...groups.filter((group) => !met.includes(group)), [...met.flat(), file]];
  }
  return groups;
}

function meets(columns: readonly string[], { facts: a }: ReadFile, { facts: b }: ReadFile): boolean {
  return columns.every((name) => {
    const [aMin, aMax, bMin, bMax] = [a.min[name], a.max[name], b.min[name], b.max[name]];
    if (aMin === undefined || aMax === undefined || bMin === undefined || bMax === undefined) return true;
    return aMin <= bMax && bMin <= aMax;
  });
}

async function duplicates(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  group: readonly ReadFile[],
): Promise<Finding | undefined> {
  const { table, version } = snapshot;
  const urls = new Map(group.map(({ file }) => [lake.urlOf(snapshot, file), file]));
  const keys = table.key.map(ident).join(", ");
  const shown = table.key.map((name) => `coalesce(CAST(${ident(name)} AS VARCHAR), 'null')`);
  const [row] = await session.json<{ keys: bigint; example: string; first: string; last: string }>(
    `SELECT count(*) OVER () AS keys, concat_ws(' ', ${shown.join(", ")}) AS example, first, last
     FROM (
       SELECT ${keys}, min(live_file) AS first, max(live_file) AS last
       FROM read_parquet(${literalList([...urls.keys()])}, hive_partitioning = false, filename = 'live_file')
       GROUP BY ${keys} HAVING count(*) > 1
     )
     ORDER BY ${keys} LIMIT 1`,
  );
  if (row === undefined) return undefined;
  const nameOf = (url: string): string => `${table.name}/${urls.get(url)?.path}`;
  const places = [...new Set([row.first, row.last].map(nameOf))];
  return {
    severity: "error",
    table: table.name,
    version,
    file: places[0] as string,
    rule: "duplicate_key",
    message: `${places.join(" and ")}: ${row.keys === 1n ? "a key" : `${row.keys} keys`} (${table.key.join(", ")}) more than once: ${row.example}`,
    hint: "every query counts these rows twice; barlake history shows which commit brought the second",
  };
}

/** Finds subjects of a table of dated versions that have two versions at the same time. */
export async function checkVersions(
  session: Session,
  lake: Lake,
  snapshot: Snapshot,
  files: readonly ReadFile[],
): Promise<Finding[]> {
  const { table, version } = snapshot;
  const read = files.map(({ file }) => file);
  const { subjects, example } = await overlappingVersions(session, lake, snapshot, read);
  if (subjects === 0) return [];
  const which = `${subjects} ${subjects === 1 ? "subject" : "subjects"} (${subjectOf(table).join(", ")})`;
  return [
    {
      severity: "error",
      table: table.name,
      version,
      rule: "versions_overlap",
      message: `${table.name}: ${which} with two versions at the same time, or a version twice: ${example}`,
      hint: `barlake repair ${table.name} keeps each version once and ends it where the next one begins`,
    },
  ];
}
