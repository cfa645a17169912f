import { ROW_GROUP } from "../../../arrow/scan/bar-scan.js";
import { inByteOrder } from "../../../core/bits.js";
import { ident, literal } from "../../../db/quote.js";
import type { Session } from "../../../db/session/session.js";
import type { Column, ColumnType } from "../../../schema/column.js";
import { readPieces } from "../../local/local-files.js";
import type { WorkFolder } from "../../local/work-folder.js";
import type { FileStats } from "../../log/delta-actions.js";
import { type ContentHash, contentHash } from "../content-hash.js";
import { addRunColumns, type FileColumn } from "./add-run-columns.js";
import type { Runs } from "./run-chunk.js";

/** Rows of a row group, a multiple of DuckDB's vector size. A symbol's month of minute bars is in one or two groups. */
export const ROW_GROUP_ROWS = 122_880;

interface RowsToWrite {
  /** A SELECT of at least the columns. */
  readonly sql: string;
  readonly columns: readonly Column[];
  readonly sort: readonly string[];
  /** The columns whose least and greatest values are reported. */
  readonly stats: readonly string[];
  /** DuckDB's options for the codec and the encodings. */
  readonly encoding: string;
}

/** How to write the rows of a sorted scan. */
export interface ScanLayout {
  /** The columns that consist of runs, by name: the scan need not have them. */
  readonly runs: ReadonlyMap<string, Runs>;
  /**
   * Columns of doubles by name: the name of the scan's column of integers with the same 64 bits. It is not used for a column whose bounds
   * go into the log, as DuckDB would report those of the integers.
   */
  readonly bits: ReadonlyMap<string, string>;
}

/** The columns that a scan must have in addition to those of the file. */
export function columnsOfScan({ bits }: ScanLayout): string[] {
  return [ROW_GROUP, ...bits.values()];
}

interface WrittenRows {
  readonly content: ContentHash;
  readonly stats: FileStats;
}

/** What DuckDB reports of a file: for each column facts such as `min` and `null_count`. */
interface CopyReport {
  readonly count: bigint;
  readonly column_statistics: readonly { key: string; value: readonly { key: string; value: string }[] }[];
}

export async function writeSortedRows(
  session: Session,
  rows: RowsToWrite,
  file: string,
): Promise<WrittenRows> {
  const { columns, sql, sort } = rows;
  const select = `SELECT ${namesOf(columns)} FROM (${sql}) ORDER BY ${sort.map(ident).join(", ")}`;
  const report = await copy(session, select, file, rows.encoding);
  return { content: await contentHash(await readPieces(file)), stats: statsOf(report, rows) };
}

/**
 * Writes the rows of a scan that is sorted, {@link ROW_GROUP_ROWS} at a time and numbered so in the column
 * {@link ROW_GROUP}, to a new file. DuckDB writes the values: each thread encodes the rows of a row group. The columns of
 * runs are added afterwards.
 *
 * Doubles are written as the integers that have their bits, as `add-run-columns.ts` explains, unless one of them has a sign
 * or is not finite.
 *
 * @returns undefined, and there is no file, where DuckDB put rows of several numbered groups into one row group, or a column
 *   is not a single value, as a list.
 */
export async function writeScannedRows(
  session: Session,
  work: Pick<WorkFolder, "newFile" | "discard">,
  rows: RowsToWrite,
  layout: ScanLayout,
  file: string,
): Promise<WrittenRows | undefined> {
  const written = await writeWith(session, work, rows, layout, file);
  if (written !== undefined || layout.bits.size === 0) return written;
  return writeWith(session, work, rows, { ...layout, bits: new Map() }, file);
}

/** @returns undefined also where the bits of a double that is written as an integer are not ordered. */
async function writeWith(
  session: Session,
  work: Pick<WorkFolder, "newFile" | "discard">,
  rows: RowsToWrite,
  { runs, bits }: ScanLayout,
  file: string,
): Promise<WrittenRows | undefined> {
  const values = await work.newFile("parquet");
  try {
    const ofValues = rows.columns.filter(({ name }) => !runs.has(name));
    const bitsOf = (name: string) => (rows.stats.includes(name) ? undefined : bits.get(name));
    const names = ofValues.map(({ name }) => `${ident(bitsOf(name) ?? name)} AS ${ident(name)}`);
    const select = `SELECT ${[...names, ident(ROW_GROUP)].join(", ")} FROM (${rows.sql})`;
    const report = await copy(session, select, values, rows.encoding);
    const columns = rows.columns.map((column) => fileColumn(column, runs, bitsOf(column.name) !== undefined));
    const content = await addRunColumns(values, file, columns);
    return content && { content, stats: withRuns(statsOf(report, rows), rows, runs) };
  } finally {
    await work.discard(values);
  }
}

/** @throws {TypeError} for runs of a type that has none. */
function fileColumn({ name, type }: Column, runsOf: ReadonlyMap<string, Runs>, hasBits: boolean): FileColumn {
  const runs = runsOf.get(name);
  if (runs === undefined) return { name, hasBits };
  const isNull = runs.values.every((value) => value === null);
  if (type === "string" || type === "int32" || type === "date" || (type === "double" && isNull))
    return { name, runs, type };
  throw new TypeError(`column ${name}: values of type ${type} cannot be written as runs`);
}

/**
 * Copies rows to a file. The rows are sorted, so the bounds of row groups are more useful than Bloom filters. The second
 * version of the format would write integers otherwise than doubles.
 */
async function copy(session: Session, select: string, file: string, encoding: string): Promise<CopyReport> {
  const [report] = await session.json<CopyReport>(
    `COPY (${select}) TO ${literal(file)} (FORMAT parquet, PARQUET_VERSION v1, ${encoding}, ROW_GROUP_SIZE ${ROW_GROUP_ROWS}, WRITE_BLOOM_FILTER false, RETURN_STATS)`,
  );
  return report as CopyReport;
}

function namesOf(columns: readonly Column[]): string {
  return columns.map(({ name }) => ident(name)).join(", ");
}

function statsOf(report: CopyReport, { columns, stats }: RowsToWrite): FileStats {
  const minValues: Record<string, string> = {};
  const maxValues: Record<string, string> = {};
  const nullCount: Record<string, number> = {};
  for (const { key, value } of report.column_statistics) {
    const column = columns.find((c) => ident(c.name) === key);
    if (column === undefined || !stats.includes(column.name)) continue;
    const facts = new Map(value.map((fact) => [fact.key, fact.value]));
    const [min, max] = [facts.get("min"), facts.get("max")];
    if (min !== undefined && max !== undefined) {
      minValues[column.name] = statText(column.type, min);
      maxValues[column.name] = statText(column.type, max);
    }
    nullCount[column.name] = Number(facts.get("null_count") ?? 0);
  }
  return { numRecords: Number(report.count), minValues, maxValues, nullCount };
}

/** Adds the statistics of texts that are runs; no number has any in the log. */
function withRuns(
  written: FileStats,
  { columns, stats }: RowsToWrite,
  runs: ReadonlyMap<string, Runs>,
): FileStats {
  const [minValues, maxValues, nullCount] = [
    { ...written.minValues },
    { ...written.maxValues },
    { ...written.nullCount },
  ];
  for (const { name, type } of columns) {
    const texts = runs.get(name)?.values;
    if (texts === undefined || type !== "string" || !stats.includes(name)) continue;
    const sorted = inByteOrder(texts as readonly string[]);
    minValues[name] = sorted[0] as string;
    maxValues[name] = sorted.at(-1) as string;
    nullCount[name] = 0;
  }
  return { ...written, minValues, maxValues, nullCount };
}

/**
 * A statistic in the protocol's form: timestamps have milliseconds and a zone. All timestamps of the lake are whole
 * milliseconds.
 */
function statText(type: ColumnType, text: string): string {
  return type === "timestamp" ? new Date(text.replace(" ", "T").replace(/\+00$/, "Z")).toISOString() : text;
}
