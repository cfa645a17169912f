import { UsageError } from "../../core/errors.js";
import { sharesSql } from "../../db/market/bar-sql.js";
import { regionSql, tradeDateSql } from "../../db/market/region-sql.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { parquetRelation } from "../../db/views/parquet-relation.js";
import type { Lake } from "../../lake/lake.js";
import { BARS_1D, BARS_1M } from "../../schema/bars.js";
import type { TableSchema } from "../../schema/column.js";
import { STATEMENT_NAMES, STATEMENTS } from "../../schema/statements.js";

/** The tables that can be compared: those with numbers of a symbol at a time. */
export const COMPARABLE: readonly TableSchema[] = [
  BARS_1D,
  BARS_1M,
  ...STATEMENT_NAMES.map((name) => STATEMENTS[name]),
];

/** A table of a source: a row for each symbol and time. */
export interface SourceRows {
  /** SELECT of symbol, at (date, or instant of minutes), day, and the columns. Volume is in shares where its unit is known. */
  readonly sql: string;
  readonly columns: readonly string[];
  /** SELECT of symbol, at and the columns of every version that the source has seen. @default it has no versions */
  readonly versions?: string;
}

export interface Source {
  readonly name: string;
  /** @returns undefined where the source has no such table. @throws {UsageError} for a file that lacks what is needed. */
  rows(session: Session, table: TableSchema): Promise<SourceRows | undefined>;
}

export const isBars = (table: TableSchema): boolean => table === BARS_1D || table === BARS_1M;

/** Columns that are compared, where both sources have them. */
function numbersOf(table: TableSchema, names: readonly string[]): string[] {
  const numbers = new Set(
    table.columns
      .filter(({ type, name }) => (type === "double" || type === "int64") && name !== "lot")
      .map(({ name }) => name),
  );
  // A source may have items of statements that the schema does not name.
  return names.filter(
    (name) => numbers.has(name) || (table.open === true && !table.columns.some((one) => one.name === name)),
  );
}

/**
 * A column as numbers. NaN and infinity are no numbers: DuckDB takes a NaN as equal to itself and above all others, so
 * that it would be within any distance. An amount of 0 means that the source reports none.
 */
function valueSql(name: string, sql = ident(name)): string {
  const double = `CAST(${sql} AS DOUBLE)`;
  const number = `CASE WHEN isfinite(${double}) THEN ${double} END`;
  return `${name === "amount" ? `nullif(${number}, 0)` : number} AS ${ident(name)}`;
}

export function lakeSource(lake: Lake): Source {
  return {
    name: lake.location,
    async rows(session, table) {
      const snapshot = await lake.snapshot(table);
      if (snapshot.files.size === 0) return undefined;
      const relation = await parquetRelation(session, lake.filesOf(snapshot));
      const doubles = snapshot.columns.filter(({ type }) => type === "double" || type === "int64");
      const columns = doubles.map(({ name }) => name);
      if (isBars(table)) {
        const values = columns.map((name) =>
          valueSql(name, name === "volume" ? sharesSql("volume", "lot") : undefined),
        );
        const at = table === BARS_1D ? "trade_date" : `"timestamp"`;
        return {
          sql: `SELECT symbol, ${at} AS "at", trade_date AS day, ${values.join(", ")} FROM (${relation})`,
          columns,
        };
      }
      const rows = `SELECT symbol, period_end AS "at", period_end AS day, ${columns.map((name) => valueSql(name)).join(", ")} FROM (${relation})`;
      const newest = `QUALIFY row_number() OVER (PARTITION BY symbol, period_end ORDER BY first_seen_at DESC, announce_date DESC NULLS LAST) = 1`;
      return { sql: `${rows} ${newest}`, columns, versions: rows };
    },
  };
}

/** Dates have the form that exports have: 01-02-2024 has two readings, and stays text. */
const DATES = ", dateformat = '%Y-%m-%d'";
const READERS: readonly (readonly [ending: RegExp, reader: string, options: string])[] = [
  [/\.parquet$/i, "read_parquet", ""],
  [/\.(csv|tsv|txt)(\.gz)?$/i, "read_csv", DATES],
  [/\.(json|jsonl|ndjson)(\.gz)?$/i, "read_json", DATES],
];

export const isFile = (path: string): boolean => READERS.some(([ending]) => ending.test(path));

/**
 * A file, or a pattern of files, as it is, with the columns of the table: what `barlake sql -o` writes. Nothing is judged,
 * and no unit is found. @param map names in the file by the table's.
 */
export function fileSource(path: string, map: Readonly<Record<string, string>> = {}): Source {
  return {
    name: path,
    async rows(session, table) {
      const [, reader, options] = READERS.find(([ending]) => ending.test(path)) as (typeof READERS)[number];
      const relation = `${reader}(${literal(path)}${options})`;
      const found = await session.json<{ column_name: string; column_type: string }>(
        `DESCRIBE FROM ${relation}`,
      );
      const typeOf = (name: string): [string, string] | undefined => {
        const sought = (map[name] ?? name).toLowerCase();
        const one = found.find(({ column_name }) => column_name.toLowerCase() === sought);
        return one && [ident(one.column_name), one.column_type];
      };
      const need = (name: string): [string, string] => {
        const one = typeOf(name);
        if (one !== undefined) return one;
        throw new UsageError(
          `${path}: has no column ${map[name] ?? name}; its columns are ${found.map((c) => c.column_name).join(", ")}`,
          {
            hint: `name it with --map ${name}=COLUMN, or read the file by all rules: barlake import ${table.name} ${path} --lake other, and compare the lakes`,
          },
        );
      };
      const [symbol] = need("symbol");
      const at = atOf(table, typeOf, need, symbol, path);
      const names = [...new Set([...table.columns.map(({ name }) => name), ...Object.keys(map)])];
      const columns = numbersOf(
        table,
        names.filter((name) => (map[name] === undefined ? typeOf(name) : need(name)) !== undefined),
      );
      const lot = typeOf("lot")?.[0];
      const values = columns.map((name) => {
        const [column] = need(name);
        return valueSql(name, name === "volume" && lot !== undefined ? `${column} * ${lot}` : column);
      });
      const day = table === BARS_1M ? tradeDateSql(`"at"`, regionSql("symbol")) : `"at"`;
      const sql = `SELECT *, ${day} AS day FROM (SELECT CAST(${symbol} AS VARCHAR) AS symbol, ${at} AS "at", ${values.join(", ")} FROM ${relation})`;
      await expectKeys(session, sql, path);
      return { sql, columns };
    },
  };
}

/**
 * A row without a key meets none, and one of two rows with a key would hide the other.
 *
 * @throws {UsageError} that names the first such row.
 */
async function expectKeys(session: Session, sql: string, path: string): Promise<void> {
  const [bare] = await session.json<{ row: string; rows: bigint }>(
    `SELECT any_value(concat_ws(' ', symbol, "at")) AS row, count(*) AS rows FROM (${sql}) WHERE symbol IS NULL OR day IS NULL`,
  );
  if (bare !== undefined && bare.rows > 0n)
    throw new UsageError(
      `${path}: ${bare.rows} rows have no symbol with a known exchange, or no time: ${bare.row}`,
      {
        hint: "symbols look like 600519.SH, 00700.HK, AAPL.US",
      },
    );
  const [twice] = await session.json<{ symbol: string; at: string }>(
    `SELECT symbol, "at"::VARCHAR AS "at" FROM (${sql}) GROUP BY ALL HAVING count(*) > 1 ORDER BY ALL LIMIT 1`,
  );
  if (twice !== undefined)
    throw new UsageError(`${path}: has more than one row of ${twice.symbol} at ${twice.at}`, {
      hint: "import it into a lake of its own, where the later row wins, and compare the lakes",
    });
}

type Column = readonly [name: string, type: string];

/** The time of a row of a file. @throws {UsageError} where it has more than one reading. */
function atOf(
  table: TableSchema,
  typeOf: (name: string) => Column | undefined,
  need: (name: string) => Column,
  symbol: string,
  path: string,
): string {
  const day = isBars(table) ? typeOf("trade_date") : need("period_end");
  if (table !== BARS_1M && day !== undefined) {
    const [name, type] = day;
    if (type === "DATE" || type === "VARCHAR" || /^TIMESTAMP(_\w+)?$/.test(type))
      return `TRY_CAST(${name} AS DATE)`;
    throw new UsageError(`${path}: its ${name} is ${type}: a date was expected`, {
      hint: `write dates like 2024-01-31, or import it into a lake of its own: barlake import ${table.name} ${path} --lake other`,
    });
  }
  const [at, type] = need(
    typeOf("timestamp") === undefined && table === BARS_1D ? "trade_date" : "timestamp",
  );
  if (type !== "TIMESTAMP WITH TIME ZONE")
    throw new UsageError(`${path}: its ${at} is ${type}: a time without a zone has more than one reading`, {
      hint: `import it, where --zone decides, into a lake of its own: barlake import ${table.name} ${path} --lake other`,
    });
  return table === BARS_1D ? tradeDateSql(at, regionSql(`CAST(${symbol} AS VARCHAR)`)) : at;
}
