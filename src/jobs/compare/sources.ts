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
  /** Columns with numbers. */
  readonly columns: readonly string[];
  /** SELECT of symbol, at and the columns of every version that the source has seen. @default it has no versions */
  readonly versions?: string;
}

/** One side of a comparison. */
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

/** An amount of 0 means that the source reports none. */
const valueSql = (name: string): string =>
  name === "amount"
    ? `nullif(CAST(amount AS DOUBLE), 0) AS amount`
    : `CAST(${ident(name)} AS DOUBLE) AS ${ident(name)}`;

/** The newest state of a lake. */
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
          name === "volume" ? `CAST(${sharesSql("volume", "lot")} AS DOUBLE) AS volume` : valueSql(name),
        );
        const at = table === BARS_1D ? "trade_date" : `"timestamp"`;
        return {
          sql: `SELECT symbol, ${at} AS "at", trade_date AS day, ${values.join(", ")} FROM (${relation})`,
          columns,
        };
      }
      const rows = `SELECT symbol, period_end AS "at", period_end AS day, ${columns.map(valueSql).join(", ")} FROM (${relation})`;
      const newest = `QUALIFY row_number() OVER (PARTITION BY symbol, period_end ORDER BY first_seen_at DESC, announce_date DESC NULLS LAST) = 1`;
      return { sql: `${rows} ${newest}`, columns, versions: rows };
    },
  };
}

const READERS: readonly (readonly [ending: RegExp, reader: string])[] = [
  [/\.parquet$/i, "read_parquet"],
  [/\.(csv|tsv|txt)(\.gz)?$/i, "read_csv"],
  [/\.(json|jsonl|ndjson)(\.gz)?$/i, "read_json"],
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
      const reader = READERS.find(([ending]) => ending.test(path))?.[1] as string;
      const relation = `${reader}(${literal(path)})`;
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
          `${path}: has no column ${name}; its columns are ${found.map((c) => c.column_name).join(", ")}`,
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
        names.filter((name) => typeOf(name) !== undefined),
      );
      const lot = typeOf("lot")?.[0];
      const values = columns.map((name) => {
        const [column] = need(name);
        const value = `CAST(${column} AS DOUBLE)${name === "volume" && lot !== undefined ? ` * ${lot}` : ""}`;
        return `${name === "amount" ? `nullif(${value}, 0)` : value} AS ${ident(name)}`;
      });
      const day = table === BARS_1M ? tradeDateSql(`"at"`, regionSql("symbol")) : `"at"`;
      return {
        sql: `SELECT *, ${day} AS day FROM (SELECT CAST(${symbol} AS VARCHAR) AS symbol, ${at} AS "at", ${values.join(", ")} FROM ${relation})`,
        columns,
      };
    },
  };
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
  if (!isBars(table)) return `CAST(${need("period_end")[0]} AS DATE)`;
  const day = typeOf("trade_date");
  if (table === BARS_1D && day !== undefined) return `CAST(${day[0]} AS DATE)`;
  const [at, type] = need(
    table === BARS_1D && typeOf("timestamp") === undefined ? "trade_date" : "timestamp",
  );
  if (type === "DATE") return at;
  if (type !== "TIMESTAMP WITH TIME ZONE")
    throw new UsageError(`${path}: its ${at} is ${type}: a time without a zone has more than one reading`, {
      hint: `import it, where --zone decides, into a lake of its own: barlake import ${table.name} ${path} --lake other`,
    });
  return table === BARS_1D ? tradeDateSql(at, regionSql(`CAST(${symbol} AS VARCHAR)`)) : at;
}
