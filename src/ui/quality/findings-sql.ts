import { regionSql, tradeDateSql } from "../../db/market/region-sql.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import type { QualityRule } from "./quality-rules.js";

/** The filter of a list of findings. Undefined members do not filter. */
export interface FindingsFilter {
  /** A region; `-` for symbols whose exchange is not known. */
  readonly region?: string | undefined;
  /** A part of the symbol's text. */
  readonly symbol?: string | undefined;
  /** First and last day. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The subject of findings without a symbol, or with an empty one. */
export const NO_SUBJECT = "-";
/** The region of symbols whose exchange is not known. */
export const NO_REGION = "-";

/** Columns with the first and the last day of a finding. The first column that the finding has is used. */
const FIRST = ["trade_date", "first_date", "announce_date", "first_period"];
const LAST = ["trade_date", "last_date", "announce_date", "last_period"];

/** The query of a rule in the form that the views need. */
export interface FindingsQuery {
  /** The columns of the rule, in their order. */
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /**
   * A query of the rule's columns and in addition `f_subject`, `f_region`, `f_first`, `f_last`, `f_dataset` and `f_at`
   * (the bar's label, ISO 8601).
   */
  readonly sql: string;
}

/** Reads the columns of a rule's findings, and makes the query with the columns that every list needs. */
export async function findingsQuery(
  session: Pick<Session, "json">,
  rule: QualityRule & { readonly sql: string },
): Promise<FindingsQuery> {
  const described = await session.json<{ column_name: string; column_type: string }>(`DESCRIBE ${rule.sql}`);
  const columns = described.map(({ column_name: name, column_type: type }) => ({ name, type }));
  const has = (name: string): boolean => columns.some((column) => column.name === name);
  const symbol = has("symbol") ? "nullif(symbol, '')" : "NULL";
  const region = has("symbol") ? regionSql("symbol") : has("region") ? "region" : "NULL";
  const day = (names: readonly string[]): string => {
    const found = names.find(has);
    if (found !== undefined) return `CAST(${ident(found)} AS DATE)`;
    return has("timestamp") ? tradeDateSql('"timestamp"', region) : "CAST(NULL AS DATE)";
  };
  const label = columns.find(({ name }) => name === "timestamp");
  const at = label?.type === "TIMESTAMP WITH TIME ZONE" ? isoSql('"timestamp"') : "CAST(NULL AS VARCHAR)";
  return {
    columns,
    sql: `SELECT *, coalesce(${symbol}, ${region}, ${literal(NO_SUBJECT)}) AS f_subject, ${region} AS f_region, ${day(FIRST)} AS f_first,
        ${day(LAST)} AS f_last, ${has("dataset") ? "dataset" : literal(rule.dataset)} AS f_dataset, ${at} AS f_at
      FROM (${rule.sql})`,
  };
}

/** The conditions of a filter, with the values of the parameters from `$1`. */
export function filterSql({ region, symbol, from, to }: FindingsFilter): {
  readonly where: string;
  readonly values: readonly string[];
} {
  const values: string[] = [];
  const conditions: string[] = [];
  const add = (value: string | undefined, condition: (at: string) => string): void => {
    if (value !== undefined && value !== "") conditions.push(condition(`$${values.push(value)}`));
  };
  if (region === NO_REGION) conditions.push("f_region IS NULL");
  else add(region, (at) => `f_region = ${at}`);
  add(symbol, (at) => `contains(upper(f_subject), upper(${at}))`);
  add(from, (at) => `f_last >= CAST(${at} AS DATE)`);
  add(to, (at) => `f_first <= CAST(${at} AS DATE)`);
  return { where: conditions.length === 0 ? "true" : conditions.join(" AND "), values };
}

/** Columns as values for JSON: instants as ISO 8601 in UTC, whole numbers as numbers, everything else as text. */
export function jsonColumns(columns: FindingsQuery["columns"]): string {
  return columns
    .map(({ name, type }) => {
      const column = ident(name);
      if (/^(DOUBLE|FLOAT|BOOLEAN|U?(TINY|SMALL)INT|U?INTEGER)$/.test(type)) return column;
      if (/^(U?BIGINT|HUGEINT|DECIMAL.*)$/.test(type)) return `CAST(${column} AS DOUBLE) AS ${column}`;
      if (type === "TIMESTAMP WITH TIME ZONE") return `${isoSql(column)} AS ${column}`;
      return `CAST(${column} AS VARCHAR) AS ${column}`;
    })
    .join(", ");
}

function isoSql(timestamp: string): string {
  return `strftime(timezone('UTC', ${timestamp}), '%Y-%m-%dT%H:%M:%SZ')`;
}
