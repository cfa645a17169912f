import { shellWord } from "../../core/shell-word.js";
import { ident, literal } from "../../db/quote.js";
import type { Session } from "../../db/session/session.js";
import { type FindingsFilter, filterSql, findingsQuery, jsonColumns, NO_SUBJECT } from "./findings-sql.js";
import { listPage, offsetOf, PAGE_ROWS } from "./list-page.js";
import type {
  CellValue,
  FindingReport,
  FindingsReport,
  ListPage,
  RegionCount,
  SubjectReport,
} from "./quality-data.js";
import type { QualityRule } from "./quality-rules.js";

type SqlRule = QualityRule & { readonly sql: string };

/** Counts the findings of a rule, by region. */
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
  const rows = found.map((row) => findingReport(row, { rule, columns, subject, location }));
  return {
    ...listPage(rows, found[0]?.total ?? 0, page),
    columns: columns.map(({ name, type }) => {
      return { name, unit: type === "TIMESTAMP WITH TIME ZONE" ? "UTC" : (units.get(name) ?? null) };
    }),
  };
}

function findingReport(
  row: FindingRow & Readonly<Record<string, CellValue>>,
  {
    rule,
    columns,
    subject,
    location,
  }: {
    readonly rule: SqlRule;
    readonly columns: readonly { readonly name: string }[];
    readonly subject: string;
    readonly location: string;
  },
): FindingReport {
  const { f_first: first, f_last: last, f_dataset: dataset, f_at: at } = row;
  return {
    values: columns.map(({ name }) => row[name] ?? null),
    dataset,
    evidence: rule.evidence(dataset),
    first,
    last,
    at,
    ...findingCommands({ rule, dataset, subject, first, last, runId: row.run_id ?? null }, location),
  };
}

/** The commands that repair and explain a finding. */
function findingCommands(
  {
    rule,
    dataset,
    subject,
    first,
    last,
    runId,
  }: {
    readonly rule: Pick<QualityRule, "isRepaired">;
    readonly dataset: string | null;
    readonly subject: string;
    readonly first: string | null;
    readonly last: string | null;
    readonly runId: CellValue;
  },
  location: string,
): Pick<FindingReport, "repairs" | "explains"> {
  const lake = shellWord(location);
  const pipeline = dataset === "bars_1m" ? "minute" : "daily";
  const repairs = rule.isRepaired ? `npx barlake run ${pipeline} --repair --lake ${lake}` : null;
  if (runId !== null)
    return { repairs, explains: `npx barlake runs show ${shellWord(String(runId))} --lake ${lake}` };
  const isBars = dataset === "bars_1d" || dataset === "bars_1m";
  const days =
    isBars && first !== null ? ` AND trade_date BETWEEN ${literal(first)} AND ${literal(last ?? first)}` : "";
  const of = /\./.test(subject) ? `symbol = ${literal(subject)}` : `region = ${literal(subject)}`;
  const query = `FROM ${dataset ?? "bars_1d"} WHERE ${of}${days}`;
  return { repairs, explains: `npx barlake sql ${shellWord(query)} --lake ${lake}` };
}

/** Units of columns by name, as stated in the comments of the views. */
export async function unitsOf(session: Session): Promise<ReadonlyMap<string, string>> {
  const rows = await session.json<{ name: string; unit: string }>(
    `SELECT column_name AS name, min(regexp_extract(comment, '\\[([^\\]]+)\\]', 1)) AS unit
     FROM duckdb_columns() WHERE (table_name LIKE 'quality%' OR table_name = 'bars_1d') AND comment LIKE '%[%]%'
     GROUP BY column_name`,
  );
  return new Map(rows.map(({ name, unit }) => [name, unit]));
}
