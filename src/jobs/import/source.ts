import { access } from "node:fs/promises";
import { basename } from "node:path";
import { messageOf, UsageError } from "../../core/errors.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { TempTable } from "../../db/session/temp-table.js";
import type { Rejects } from "../../lake/land/rejects.js";
import { expectWhole } from "./check-text-file.js";

/** A user's file, as DuckDB reads it. Disposing of it drops the temporary tables of a CSV file. */
export interface Source extends AsyncDisposable {
  readonly path: string;
  /** A SELECT of the file's columns, and of `line`: the line in a CSV file, the row number (from 1) in other files. */
  readonly sql: string;
  readonly columns: readonly string[];
}

/** Other names that a column of the lake may have in a file. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  timestamp: ["timestamp_ms", "datetime", "time", "date", "trade_date"],
  volume: ["vol"],
  prev_close: ["pre_close"],
  listing_date: ["list_date"],
  announce_date: ["ann_date"],
  period_end: ["end_date"],
};

const FORMATS = /\.(csv|tsv|txt|parquet|json|ndjson|jsonl)(\.gz|\.zst)?$/i;

/**
 * Opens a file with DuckDB's own reader. Malformed lines of a CSV file go to the rejects.
 *
 * @throws {UsageError} when the file's ending is unknown.
 * @throws {BarlakeError} when the file is compressed and truncated; {@link QueryError} when it is not readable.
 */
export async function openSource(
  session: Session,
  path: string,
  dataset: string,
  rejects: Rejects,
): Promise<Source> {
  const format = FORMATS.exec(path)?.[1]?.toLowerCase();
  if (format === undefined) {
    throw new UsageError(`file ${path}: its ending names no known format`, {
      hint: "name it .csv, .tsv, .parquet, .json, .ndjson or .jsonl; text may be .gz or .zst",
    });
  }
  await access(path).catch((cause: unknown) => {
    throw new UsageError(`file ${path}: cannot be read`, { hint: "check the path", cause });
  });
  await expectWhole(path);
  const file = literal(exactPath(path));
  if (format === "parquet")
    return describe(session, path, `SELECT * FROM read_parquet(${file})`, "row_number() OVER ()");
  if (format.includes("json")) {
    const sql = `SELECT * FROM read_json(${file}, maximum_object_size = 1073741824, convert_strings_to_integers = false)`;
    return describe(session, path, sql, "row_number() OVER ()");
  }
  const tables = csvTables(session);
  try {
    const { rows, errors, scans } = tables;
    await rows.fill(`SELECT *, row_number() OVER () + 1 AS ${ident(LINE)}
      FROM read_csv(${file}, header = true, all_varchar = true, store_rejects = true,
        rejects_table = ${literal(errors.name)}, rejects_scan = ${literal(scans.name)})`);
    const line = await rejectMalformed(session, path, tables, (rowsSql) => rejects.add(dataset, rowsSql));
    const source = await describe(session, path, `SELECT * FROM ${rows.name}`, line);
    return { ...source, [Symbol.asyncDispose]: () => dropAll(tables) };
  } catch (error) {
    await dropAll(tables);
    throw error;
  }
}

/** The temporary tables of one CSV file. */
interface CsvTables {
  readonly rows: TempTable;
  /** Malformed lines; DuckDB creates it. */
  readonly errors: TempTable;
  /** Facts about the read; DuckDB creates it. */
  readonly scans: TempTable;
  /** The lines of malformed rows: after each of them, the numbers of the other rows are one too low. */
  readonly shifts: TempTable;
}

function csvTables(session: Session): CsvTables {
  return {
    rows: new TempTable(session, "csv_rows"),
    errors: new TempTable(session, "csv_errors"),
    scans: new TempTable(session, "csv_scans"),
    shifts: new TempTable(session, "csv_shifts"),
  };
}

async function dropAll(tables: CsvTables): Promise<void> {
  for (const table of Object.values(tables) as TempTable[]) await table[Symbol.asyncDispose]();
}

const LINE = "__line";

/** Escapes a path, so that DuckDB reads this one file, and does not treat the path as a pattern. */
function exactPath(path: string): string {
  return path.replaceAll(/[*?[]/g, "[$&]");
}

/**
 * Adds the lines that the CSV reader rejected to the rejects. @returns the SQL of the true line number of the other
 * rows.
 */
async function rejectMalformed(
  session: Session,
  path: string,
  { errors, shifts }: CsvTables,
  reject: (rowsSql: string) => Promise<void>,
): Promise<string> {
  const [found] = await session.json<{ n: bigint }>(`SELECT count(*) AS n FROM ${errors.name}`);
  if (Number(found?.n ?? 0) === 0) return ident(LINE);
  await reject(
    `SELECT ${literal(path)} AS source, line, NULL AS symbol, NULL AS timestamp, 'unparsable' AS rule,
       any_value(error_message) AS reason, to_json(any_value(csv_line)) AS row
     FROM ${errors.name} GROUP BY line`,
  );
  await shifts.fill(
    `SELECT line - row_number() OVER (ORDER BY line) + 1 AS first FROM (SELECT DISTINCT line FROM ${errors.name})`,
  );
  return `${ident(LINE)} + (SELECT count(*) FROM ${shifts.name} WHERE first <= ${ident(LINE)})`;
}

async function describe(session: Session, path: string, sql: string, line: string): Promise<Source> {
  const rows = await session.json<{ column_name: string }>(`DESCRIBE ${sql}`);
  const columns = rows.map((row) => row.column_name).filter((name) => name !== LINE);
  const exclude = rows.some((row) => row.column_name === LINE) ? ` EXCLUDE (${ident(LINE)})` : "";
  return {
    path,
    columns,
    sql: `SELECT *${exclude}, ${line} AS line FROM (${sql})`,
    [Symbol.asyncDispose]: async () => {},
  };
}

/** The file's column for a column of the lake: the mapped column, else one with the same name or a usual alias. */
export function findColumn(
  source: Source,
  name: string,
  map: Readonly<Record<string, string>>,
): string | undefined {
  const mapped = map[name];
  if (mapped !== undefined) {
    if (source.columns.includes(mapped)) return mapped;
    throw new UsageError(`file ${source.path}: has no column "${mapped}", which \`map\` gives for ${name}`, {
      hint: `its columns are ${source.columns.join(", ")}`,
    });
  }
  for (const candidate of [name, ...(ALIASES[name] ?? [])]) {
    const found = source.columns.find((column) => column.toLowerCase() === candidate);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** SQL of the trimmed text of a column; null where it is empty, and for a column that the file does not have. */
export function textSql(column: string | undefined): string {
  return column === undefined
    ? "CAST(NULL AS VARCHAR)"
    : `nullif(trim(CAST(${ident(column)} AS VARCHAR)), '')`;
}

/** SQL of a date from a text in the form YYYY-MM-DD or YYYYMMDD; null for any other text. */
export function dateSql(text: string): string {
  return `CASE WHEN regexp_full_match(${text}, '\\d{8}') THEN CAST(try_strptime(${text}, '%Y%m%d') AS DATE)
    ELSE TRY_CAST(${text} AS DATE) END`;
}

/** The file's name without folder and extensions. If it is a symbol, all rows are of that symbol. */
export function stemOf(path: string): string {
  return basename(path).replace(FORMATS, "");
}

/** Adds a whole file to the rejects. */
export async function rejectFile(
  rejects: Rejects,
  dataset: string,
  path: string,
  error: unknown,
): Promise<void> {
  const reason = messageOf(error).split("\n")[0] ?? "";
  await rejects.add(
    dataset,
    `SELECT ${literal(path)} AS source, NULL AS line, NULL AS symbol, NULL AS timestamp, 'unreadable_file' AS rule,
       ${literal(reason)} AS reason, NULL AS row`,
  );
}
