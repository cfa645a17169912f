import { shellWord } from "../../core/text-order.js";
import { dateOfEpochDay, epochDay, MINUTE_MS, type TradingDate } from "../../core/time.js";
import { regionSql, tradeDateSql } from "../../db/market/region-sql.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { isRegion, REGIONS } from "../../market/regions.js";
import { regionOf } from "../../market/symbol.js";
import {
  type CellValue,
  type Evidence,
  type EvidenceReport,
  type FindingReport,
  type FindingsReport,
  type ListPage,
  listPage,
  offsetOf,
  PAGE_ROWS,
  type RegionCount,
  type SubjectReport,
} from "./quality-data.js";
import type { QualityRule } from "./quality-rules.js";

/** The filter of a list of findings. Undefined members do not filter. */
export interface FindingsFilter {
  /** A region; `-` for symbols whose exchange is not known. */
  readonly region?: string | undefined;
  readonly symbol?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** The subject of findings without a symbol, or with an empty one. */
const NO_SUBJECT = "-";
/** The region of symbols whose exchange is not known. */
export const NO_REGION = "-";

/** Columns with the first and the last day of a finding. The first column that the finding has is used. */
const FIRST = ["trade_date", "first_date", "announce_date", "first_period"];
const LAST = ["trade_date", "last_date", "announce_date", "last_period"];

interface FindingsQuery {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
  /** The rule's columns and `f_subject`, `f_region`, `f_first`, `f_last`, `f_dataset`, `f_at` (the bar's label, ISO 8601). */
  readonly sql: string;
}

/** Reads the columns of a rule's findings, and makes the query with the columns that every list needs. */
async function findingsQuery(
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
function filterSql({ region, symbol, from, to }: FindingsFilter): {
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
function jsonColumns(columns: FindingsQuery["columns"]): string {
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

type SqlRule = QualityRule & { readonly sql: string };

export async function countFindings(session: Session, rule: SqlRule): Promise<RegionCount[]> {
  const { sql } = await findingsQuery(session, rule);
  return session.json<RegionCount>(
    `SELECT f_region AS region, count(*)::DOUBLE AS findings, count(DISTINCT f_subject)::DOUBLE AS subjects,
       min(f_first)::VARCHAR AS first, max(f_last)::VARCHAR AS last
     FROM (${sql}) GROUP BY f_region ORDER BY findings DESC, region`,
  );
}

/** A page of the subjects of a rule's findings, those with the most findings first. */
export async function findingSubjects(
  session: Session,
  rule: SqlRule,
  filter: FindingsFilter,
  page: number,
): Promise<ListPage<SubjectReport>> {
  const { sql } = await findingsQuery(session, rule);
  const { where, values } = filterSql(filter);
  const found = await session.json<SubjectReport & { readonly total: number }>(
    `SELECT f_subject AS subject, f_region AS region, count(*)::DOUBLE AS findings, min(f_first)::VARCHAR AS first,
       max(f_last)::VARCHAR AS last, (count(*) OVER ())::DOUBLE AS total
     FROM (${sql}) WHERE ${where} GROUP BY f_subject, f_region
     ORDER BY findings DESC, subject LIMIT ${PAGE_ROWS} OFFSET ${offsetOf(page)}`,
    [...values],
  );
  return listPage(
    found.map(({ subject, region, findings, first, last }) => ({ subject, region, findings, first, last })),
    found[0]?.total ?? 0,
    page,
  );
}

interface FindingRow {
  readonly f_first: string | null;
  readonly f_last: string | null;
  readonly f_dataset: string | null;
  readonly f_at: string | null;
  readonly total: number;
}

/** A page of the findings about one subject, the newest first. @param location of the lake, in the form of commands */
export async function findingsOf(
  session: Session,
  rule: SqlRule,
  subject: string,
  filter: Pick<FindingsFilter, "from" | "to">,
  page: number,
  location: string,
): Promise<FindingsReport> {
  const { sql, columns } = await findingsQuery(session, rule);
  const { where, values } = filterSql(filter);
  const isSymbol = columns.some(({ name }) => name === "symbol");
  // A condition on the rule's own column `symbol` allows DuckDB to skip files.
  const own = isSymbol && subject !== NO_SUBJECT ? "symbol" : "f_subject";
  const found = await session.json<FindingRow & Readonly<Record<string, CellValue>>>(
    `SELECT ${jsonColumns(columns)}, f_first::VARCHAR AS f_first, f_last::VARCHAR AS f_last, f_dataset, f_at,
       (count(*) OVER ())::DOUBLE AS total
     FROM (${sql}) WHERE ${own} = $${values.length + 1} AND ${where}
     ORDER BY f_last DESC, f_at DESC, ${columns.map(({ name }) => ident(name)).join(", ")} LIMIT ${PAGE_ROWS} OFFSET ${offsetOf(page)}`,
    [...values, subject],
  );
  const units = await unitsOf(session);
  const rows = found.map((row) => findingReport(row, rule, columns, subject, location));
  return {
    ...listPage(rows, found[0]?.total ?? 0, page),
    columns: columns.map(({ name, type }) => {
      return { name, unit: type === "TIMESTAMP WITH TIME ZONE" ? "UTC" : (units.get(name) ?? null) };
    }),
  };
}

/** A finding, with the commands that repair and explain it. @param columns those of its rule */
function findingReport(
  row: FindingRow & Readonly<Record<string, CellValue>>,
  rule: SqlRule,
  columns: FindingsQuery["columns"],
  subject: string,
  location: string,
): FindingReport {
  const { f_first: first, f_last: last, f_dataset: dataset, f_at: at, run_id: runId = null } = row;
  const lake = shellWord(location);
  const pipeline = dataset === "bars_1m" ? "minute" : "daily";
  const isBars = dataset === "bars_1d" || dataset === "bars_1m";
  const days =
    isBars && first !== null ? ` AND trade_date BETWEEN ${literal(first)} AND ${literal(last ?? first)}` : "";
  const of = /\./.test(subject) ? `symbol = ${literal(subject)}` : `region = ${literal(subject)}`;
  const query = `FROM ${dataset ?? "bars_1d"} WHERE ${of}${days}`;
  const shows = runId === null ? `sql ${shellWord(query)}` : `runs show ${shellWord(String(runId))}`;
  return {
    values: columns.map(({ name }) => row[name] ?? null),
    dataset,
    evidence: rule.evidence(dataset),
    first,
    last,
    at,
    repairs: rule.isRepaired ? `npx barlake run ${pipeline} --repair --lake ${lake}` : null,
    explains: `npx barlake ${shows} --lake ${lake}`,
  };
}

/** Units of columns by name, as stated in the comments of the views. */
async function unitsOf(session: Session): Promise<ReadonlyMap<string, string>> {
  const rows = await session.json<{ name: string; unit: string }>(
    `SELECT column_name AS name, min(regexp_extract(comment, '\\[([^\\]]+)\\]', 1)) AS unit
     FROM duckdb_columns() WHERE (table_name LIKE 'quality%' OR table_name = 'bars_1d') AND comment LIKE '%[%]%'
     GROUP BY column_name`,
  );
  return new Map(rows.map(({ name, unit }) => [name, unit]));
}

interface EvidenceRequest {
  /** A symbol; or a region, for the bars of all its symbols on the days. */
  readonly subject: string;
  readonly evidence: Exclude<Evidence, "none">;
  readonly first: TradingDate;
  readonly last: TradingDate;
  /** Label of the bar in epoch milliseconds, for `minutes`; undefined: the whole first day. */
  readonly at: number | undefined;
}

/** Most bars that are listed; of a longer stretch, the newest ones. */
const MOST_BARS = 200;
const DAYS_AROUND = 10;
/** Number of minutes shown before and after the bar in question. */
const MINUTES_AROUND = 15;

const PRICES = ["open", "high", "low", "close", "volume", "amount", "prev_close"];
/** Columns of each kind of evidence, after the time. */
const COLUMNS: Readonly<Record<EvidenceRequest["evidence"], readonly string[]>> = {
  days: ["trade_date", ...PRICES, "lot", "is_final"],
  minutes: ["timestamp", ...PRICES, "lot", "is_final"],
  "minute days": ["trade_date", "bars", "first_label", "last_label", "volume", "amount"],
};
/** Units of columns that no view has. */
const OWN_UNITS: Readonly<Record<string, string>> = {
  timestamp: "UTC",
  bars: "bars",
  first_label: "UTC",
  last_label: "UTC",
};

/**
 * The bars that a finding is about, as they landed, with those around them. A session without a bar is a row without
 * values.
 */
export async function readEvidence(session: Session, request: EvidenceRequest): Promise<EvidenceReport> {
  const isOfRegion = isRegion(request.subject);
  const columns = isOfRegion ? ["symbol", ...COLUMNS.days] : COLUMNS[request.evidence];
  const { sql, values } = isOfRegion ? regionDays(request) : QUERIES[request.evidence](request);
  const found = await session.json<
    Readonly<Record<string, CellValue>> & { readonly seconds: number; readonly in_question: boolean }
  >(
    `SELECT ${columns.map((name) => `"${name}"`).join(", ")}, seconds, in_question
     FROM (${sql}) ORDER BY seconds DESC, ${columns[0]} LIMIT ${MOST_BARS + 1}`,
    values,
  );
  const units = await unitsOf(session);
  const rows = found.slice(0, MOST_BARS).reverse();
  return {
    columns: columns.map((name) => ({ name, unit: OWN_UNITS[name] ?? units.get(name) ?? null })),
    rows: rows.map((row) => ({
      values: columns.map((name) => row[name] ?? null),
      isInQuestion: row.in_question,
      time: row.seconds,
    })),
    hasMore: found.length > MOST_BARS,
  };
}

type Query = { readonly sql: string; readonly values: string[] };

const SHOWN_PRICES =
  "b.open, b.high, b.low, b.close, b.volume::DOUBLE AS volume, b.amount, b.prev_close, b.lot, b.is_final";
const MARKS = "d.trade_date BETWEEN CAST($2 AS DATE) AND CAST($3 AS DATE)";

const QUERIES: Readonly<Record<EvidenceRequest["evidence"], (request: EvidenceRequest) => Query>> = {
  days: (request) => ({
    sql: `SELECT d.trade_date::VARCHAR AS trade_date, ${SHOWN_PRICES}, epoch(d.trade_date) AS seconds, ${MARKS} AS in_question
      FROM (${daysSql("bars_1d", request)}) AS d
      LEFT JOIN (FROM raw.bars_1d WHERE symbol = $1) AS b USING (trade_date)`,
    values: [request.subject, request.first, request.last],
  }),
  minutes: ({ subject, first, at }) => {
    const around = MINUTES_AROUND * MINUTE_MS;
    const instant = (ms: number): string => `make_timestamptz(${Math.trunc(ms) * 1000})`;
    const window =
      at === undefined ? "true" : `"timestamp" BETWEEN ${instant(at - around)} AND ${instant(at + around)}`;
    return {
      sql: `SELECT strftime(timezone('UTC', b."timestamp"), '%Y-%m-%dT%H:%M:%SZ') AS "timestamp", ${SHOWN_PRICES},
          epoch(timezone(${literal(zoneOf(subject))}, b."timestamp")) AS seconds,
          ${at === undefined ? "true" : `b."timestamp" = ${instant(at)}`} AS in_question
        FROM raw.bars_1m AS b WHERE symbol = $1 AND trade_date = CAST($2 AS DATE) AND ${window}`,
      values: [subject, first],
    };
  },
  "minute days": (request) => ({
    sql: `SELECT d.trade_date::VARCHAR AS trade_date, coalesce(b.bars, 0)::DOUBLE AS bars, b.first_label, b.last_label, b.volume, b.amount,
        epoch(d.trade_date) AS seconds, ${MARKS} AS in_question
      FROM (${daysSql("bars_1m", request)}) AS d
      LEFT JOIN (
        SELECT trade_date, count(*) AS bars, strftime(timezone('UTC', min("timestamp")), '%H:%M') AS first_label,
          strftime(timezone('UTC', max("timestamp")), '%H:%M') AS last_label, sum(volume)::DOUBLE AS volume, sum(amount) AS amount
        FROM raw.bars_1m WHERE symbol = $1 AND ${windowSql(request)} GROUP BY trade_date
      ) AS b USING (trade_date)`,
    values: [request.subject, request.first, request.last],
  }),
};

function regionDays({ subject, first, last }: EvidenceRequest): Query {
  return {
    sql: `SELECT b.symbol, b.trade_date::VARCHAR AS trade_date, ${SHOWN_PRICES}, epoch(b.trade_date) AS seconds, true AS in_question
      FROM raw.bars_1d AS b WHERE region = $1 AND trade_date BETWEEN CAST($2 AS DATE) AND CAST($3 AS DATE)`,
    values: [subject, first, last],
  };
}

/** SQL of the sessions of the calendar, and of the days with a bar, in and around the days in question. */
function daysSql(table: "bars_1d" | "bars_1m", request: EvidenceRequest): string {
  const window = windowSql(request);
  return `SELECT trade_date FROM raw.${table} WHERE symbol = $1 AND ${window}
    UNION SELECT trade_date FROM raw.trading_days WHERE region = ${literal(regionOf(request.subject) ?? "")} AND ${window}`;
}

function windowSql({ first, last }: EvidenceRequest): string {
  return `trade_date BETWEEN DATE ${literal(shifted(first, -DAYS_AROUND))} AND DATE ${literal(shifted(last, DAYS_AROUND))}`;
}

function shifted(date: TradingDate, days: number): TradingDate {
  return dateOfEpochDay(epochDay(date) + days);
}

function zoneOf(symbol: string): string {
  const region = regionOf(symbol);
  return region === undefined ? "UTC" : REGIONS[region].zone;
}
