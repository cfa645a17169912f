import { QueryError } from "../../../core/errors.js";
import { ident, literal, literalList } from "../../../db/quote.js";
import { type Session, TempTable } from "../../../db/session/session.js";
import type { DecimalMark } from "../import-options.js";
import { openBytes, type TextFile } from "../text/text-file.js";
import { exactPath, notArrow, stemOf } from "../text/whole-file.js";

/** Files that one statement reads: they have the same form and the same columns. */
export interface FileGroup {
  readonly files: readonly TextFile[];
  /** The files' places among those of the command, from 0. */
  readonly places: readonly number[];
}

export interface SourceColumn {
  readonly sql: string;
  /** DuckDB's type. */
  readonly type: string;
}

export interface MalformedLine {
  readonly path: string;
  readonly line: number;
  readonly text: string;
  readonly reason: string;
}

/** Puts files of the same form and columns together; the order of the files remains. */
export function groupFiles(files: readonly (TextFile | undefined)[]): FileGroup[] {
  const groups = new Map<string, { files: TextFile[]; places: number[] }>();
  for (const [place, file] of files.entries()) {
    if (file === undefined) continue;
    const { format, json, columns, types, csv } = file;
    const wide = csv?.wide;
    // A file that is named twice is read by two statements: one would give each of its rows both places.
    const again = files.slice(0, place).filter((one) => one?.readPath === file.readPath).length;
    const key = JSON.stringify([format, json, columns, types, csv?.dialect, wide, file.found, again]);
    const group = groups.get(key) ?? { files: [], places: [] };
    if (group.files.length === 0) groups.set(key, group);
    group.files.push(file);
    group.places.push(place);
  }
  return [...groups.values()];
}

/** A group of files that is open for statements. Disposing of it drops what it made. */
export interface OpenGroup extends AsyncDisposable {
  /** A table expression of all rows: its columns, `file` (a place), `stem` (the file's name) and, for tables that are side by side, `ticker`. */
  readonly from: string;
  readonly columns: readonly SourceColumn[];
  /** The malformed lines so far: of the statements that read `from`. */
  malformed(): Promise<readonly MalformedLine[]>;
}

/**
 * @param mark the decimal mark of texts of numbers. Numbers of JSON have a point, and become texts with this mark. `none`:
 *   they are left out.
 * @throws {QueryError} where a file cannot be read.
 */
export async function openGroup(
  session: Session,
  group: FileGroup,
  mark: DecimalMark | "none" = ".",
): Promise<OpenGroup> {
  const { format, csv } = group.files[0] as TextFile;
  if (format === "arrow") return openArrow(session, group);
  const places = new TempTable(session, "file_places");
  const rows = group.files.map(
    ({ path, readPath }, i) =>
      `(${literal(readPath)}, ${group.places[i]}::INTEGER, ${literal(stemOf(path))})`,
  );
  await places.fill(`SELECT * FROM (VALUES ${rows.join(", ")}) AS t(path, file, stem)`);
  const withPlace = (relation: string, columns: string): string =>
    group.files.length === 1
      ? `(SELECT ${columns}, ${group.places[0]}::INTEGER AS file, ${literal(stemOf((group.files[0] as TextFile).path))} AS stem FROM ${relation})`
      : `(SELECT ${columns}, p.file, p.stem FROM ${relation} r JOIN ${places.name} p ON p.path = r.filename)`;
  switch (format) {
    case "csv": {
      const opened = openCsv(session, group, withPlace);
      const columns = columnsOf(group);
      return csv?.wide === undefined ? { ...opened, columns } : openWide(session, group, opened);
    }
    case "json":
    case "parquet": {
      const relation = format === "json" ? jsonRelation(group, mark) : parquetRelation(group);
      const { columns, types, members = columns } = group.files[0] as TextFile;
      const valueOf = (name: string): string =>
        format === "json" && mark !== "." ? jsonTextSql(ident(name), mark) : ident(name);
      const list = members.map((name, i) => `${valueOf(name)} AS c${i}`).join(", ") || "NULL AS c0";
      return {
        from: withPlace(relation, list),
        columns: columns.map((_, i) => ({ sql: `c${i}`, type: types?.[i] ?? "VARCHAR" })),
        malformed: async () => [],
        [Symbol.asyncDispose]: () => places[Symbol.asyncDispose](),
      };
    }
  }
}

function columnsOf({ files }: FileGroup): SourceColumn[] {
  return (files[0] as TextFile).columns.map((_, i) => ({ sql: `c${i}`, type: "VARCHAR" }));
}

function pathList(group: FileGroup): string {
  return literalList(group.files.map(({ readPath }) => exactPath(readPath)));
}

function parquetRelation(group: FileGroup): string {
  return `read_parquet(${pathList(group)}${group.files.length > 1 ? ", filename = true" : ""})`;
}

/** JSON values as texts: numbers are never read as a type that a sample suggests. */
function jsonRelation(group: FileGroup, mark: DecimalMark | "none"): string {
  const { columns, members = columns, json } = group.files[0] as TextFile;
  const names = (members.length > 0 ? members : ["symbol"]).map(
    (name) => `${literal(name)}: ${mark === "." ? "'VARCHAR'" : "'JSON'"}`,
  );
  return `read_json(${pathList(group)}, format = ${literal(json ?? "auto")}${group.files.length > 1 ? ", filename = true" : ""}, columns = {${names.join(", ")}}${json === "newline_delimited" ? ", ignore_errors = true" : ""})`;
}

/** SQL of a value of JSON as a text; a number with a comma for its point, or nothing. */
function jsonTextSql(value: string, mark: "," | "none"): string {
  const number = mark === "none" ? "NULL" : `replace(CAST(${value} AS VARCHAR), '.', ',')`;
  return `CASE json_type(${value}) WHEN 'NULL' THEN NULL WHEN 'DOUBLE' THEN ${number} ELSE json_extract_string(${value}, '$') END`;
}

type Opened = Omit<OpenGroup, "columns">;

function openCsv(
  session: Session,
  group: FileGroup,
  withPlace: (relation: string, columns: string) => string,
): Opened {
  const errors = new TempTable(session, "csv_errors");
  const scans = new TempTable(session, "csv_scans");
  const { csv, columns } = group.files[0] as TextFile;
  const width =
    csv?.wide === undefined ? columns.length : 1 + Math.max(...csv.wide.map(({ index }) => index));
  const types = Array.from({ length: width }, (_, i) => `'c${i}': 'VARCHAR'`).join(", ");
  const { delimiter = ",", skip = 1 } = csv?.dialect ?? {};
  const relation = `read_csv(${pathList(group)}, auto_detect = false, header = false, skip = ${skip}, delim = ${literal(delimiter)},
    quote = '"', escape = '"', columns = {${types}}${group.files.length > 1 ? ", filename = true" : ""},
    store_rejects = true, rejects_table = ${literal(errors.name)}, rejects_scan = ${literal(scans.name)})`;
  const list = Array.from({ length: width }, (_, i) => `c${i}`).join(", ");
  return {
    from: withPlace(relation, list),
    async malformed() {
      const found = await session
        .json<{ path: string; line: bigint; text: string; reason: string }>(
          `SELECT s.file_path AS path, e.line, any_value(e.csv_line) AS text, any_value(e.error_message) AS reason
           FROM ${errors.name} e JOIN ${scans.name} s USING (scan_id, file_id) GROUP BY ALL ORDER BY ALL`,
        )
        .catch((error: unknown) => {
          if (error instanceof QueryError && error.message.includes("does not exist")) return [];
          throw error;
        });
      return found.map((row) => ({ ...row, line: Number(row.line) }));
    },
    async [Symbol.asyncDispose]() {
      for (const table of [errors, scans]) await table[Symbol.asyncDispose]();
    },
  };
}

/** Rows of instruments that are side by side become rows below each other. */
async function openWide(session: Session, group: FileGroup, opened: Opened): Promise<OpenGroup> {
  const { csv, columns } = group.files[0] as TextFile;
  const wide = csv?.wide ?? [];
  const rows = new TempTable(session, "wide_rows");
  await rows.fill(`SELECT * FROM ${opened.from}`);
  const tickers = [...new Set(wide.map(({ ticker }) => ticker))];
  const selects = tickers.map((ticker) => {
    const cells = columns.slice(1).map((field, i) => {
      const found = wide.find((one) => one.ticker === ticker && one.field === field);
      return `${found === undefined ? "CAST(NULL AS VARCHAR)" : `c${found.index}`} AS v${i + 1}`;
    });
    const values = cells.map((_, i) => `v${i + 1}`);
    // Days on which only other instruments traded have no values.
    const some = values.length > 0 ? ` WHERE coalesce(${values.join(", ")}) IS NOT NULL` : "";
    return `(SELECT * FROM (SELECT file, stem, c0 AS v0, ${cells.join(", ")}, ${literal(ticker)} AS ticker FROM ${rows.name} ORDER BY rowid)${some})`;
  });
  return {
    ...opened,
    from: `(${selects.join(" UNION ALL ")})`,
    columns: columns.map((_, i) => ({ sql: `v${i}`, type: "VARCHAR" })),
    async [Symbol.asyncDispose]() {
      await rows[Symbol.asyncDispose]();
      await opened[Symbol.asyncDispose]();
    },
  };
}

async function openArrow(session: Session, group: FileGroup): Promise<OpenGroup> {
  const { ipcBatches } = await import("../../../arrow/ipc-columns.js");
  const rows = new TempTable(session, "arrow_rows");
  let types: readonly string[] | undefined;
  for (const [i, { path, readPath }] of group.files.entries()) {
    try {
      for await (const { batch, columns } of ipcBatches(openBytes(readPath))) {
        const select = columns.map(({ sql }, n) => `${sql(`h${n}`)} AS c${n}`).join(", ");
        await session.withBatch(batch, async (from) => {
          const query = `SELECT ${select}, ${group.places[i]}::INTEGER AS file, ${literal(stemOf(path))} AS stem FROM ${from}`;
          if (types === undefined) await rows.fill(query);
          else await session.run(`INSERT INTO ${rows.name} ${query}`);
        });
        types ??= columns.map(({ type }) => type);
      }
    } catch (cause) {
      await rows[Symbol.asyncDispose]();
      throw notArrow(path, cause);
    }
  }
  // A file without a batch has no rows.
  const { columns: names } = group.files[0] as TextFile;
  if (types === undefined)
    await rows.define(["file INTEGER", "stem VARCHAR", ...names.map((_, n) => `c${n} VARCHAR`)].join(", "));
  return {
    from: rows.name,
    columns: names.map((_, n) => ({ sql: `c${n}`, type: types?.[n] ?? "VARCHAR" })),
    malformed: async () => [],
    [Symbol.asyncDispose]: () => rows[Symbol.asyncDispose](),
  };
}
