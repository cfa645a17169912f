import { ident, literal } from "../../db/quote.js";
import { jsonParameter } from "../../db/session/named-values.js";
import type { Session } from "../../db/session/session.js";
import { noValue, PREVIOUS_CLOSE, symbolAt, type UnstatedValues } from "../../plan/stated-values.js";
import { KLINE_COLUMNS } from "../../schema/bars.js";
import { type Column, DUCKDB_TYPE, type TableSchema } from "../../schema/column.js";
import type { DeliveredBars } from "../../wire/bar-segment.js";
import type { Rejects } from "./rejects.js";
import type { StagedColumns } from "./staged-rows.js";

/** The nullable columns of a bar. */
const NULLABLE = KLINE_COLUMNS.filter(({ nullable }) => nullable === true).map(({ name }) => name);

/**
 * Makes null what staged bars state in vain: NaN and infinities in nullable columns, and a previous close of 0 or less. A
 * close of 0 without volume becomes the previous close. Each source with such bars gets a remark among the rejects. `plan/stated-values` does the same for decoded columns.
 *
 * @param also other columns that may be null.
 */
export async function clearValues(
  session: Session,
  table: TableSchema,
  staged: string,
  rejects: Rejects,
  also: readonly string[] = [],
): Promise<void> {
  const [has] = await session.json<{ any: boolean }>(
    `SELECT ${hasUnstatedSql(also)} AS "any" FROM ${staged}`,
  );
  if (has?.any !== true) return;
  const columns = [...NULLABLE, ...also].map((name) => ({
    name,
    isUnstated: unstatedSql(name),
    stated: "NULL",
  }));
  // After the previous close: what it states is known by then.
  columns.push({
    name: "close",
    isUnstated: "close = 0 AND volume = 0 AND isfinite(prev_close) AND prev_close > 0",
    stated: PREVIOUS_CLOSE,
  });
  const counts = columns.map(({ isUnstated }, i) => `count(*) FILTER (${isUnstated})::DOUBLE AS n${i}`);
  const [found] = await session.json<Record<string, number>>(`SELECT ${counts.join(", ")} FROM ${staged}`);
  for (const [i, { name, isUnstated, stated }] of columns.entries()) {
    if (found?.[`n${i}`] === 0) continue;
    const order = "line, symbol, timestamp";
    await rejects.add(
      table.name,
      `SELECT source, min(line) AS line, first(symbol ORDER BY ${order}) AS symbol,
         CAST(first(timestamp ORDER BY ${order}) AS VARCHAR) AS timestamp, 'out_of_range' AS rule,
         ${reasonSql(name, "count(*)")} AS reason, 0 AS bars, NULL AS row
       FROM ${staged} WHERE ${isUnstated} GROUP BY source`,
    );
    await session.run(`UPDATE ${staged} SET ${ident(name)} = ${stated} WHERE ${isUnstated}`);
  }
}

/**
 * SQL of an aggregate: whether {@link clearValues} makes a value of some bars null. Extremes take a fraction of the time of
 * a test of each value; NaN is above all others. @param also see there.
 */
export function hasUnstatedSql(also: readonly string[] = []): string {
  const tests = [...NULLABLE, ...also].flatMap((name) => {
    const [least, most] = [`min(${ident(name)})`, `max(${ident(name)})`];
    return [`NOT isfinite(${most})`, name === PREVIOUS_CLOSE ? `${least} <= 0` : `NOT isfinite(${least})`];
  });
  tests.push("min(close) <= 0");
  return `(${tests.map((test) => `coalesce(${test}, false)`).join(" OR ")})`;
}

/** Adds a remark to the rejects for each column of a delivery in which values became null. */
export async function remarkUnstated(
  rejects: Rejects,
  table: TableSchema,
  { columns, source }: DeliveredBars,
  unstated: readonly UnstatedValues[],
): Promise<void> {
  for (const { column, bars, first } of unstated) {
    const symbol = symbolAt(columns, first);
    const at = `make_timestamptz(${Number(columns.timestamp[first]) * 1000}::BIGINT)`;
    await rejects.add(
      table.name,
      `SELECT ${literal(source)} AS source, NULL AS line, ${literal(symbol)} AS symbol, CAST(${at} AS VARCHAR) AS timestamp,
         'out_of_range' AS rule, ${reasonSql(column, String(bars))} AS reason, 0 AS bars, NULL AS row`,
    );
  }
}

/** Adds a remark to the rejects for each source and field of staged statements with numbers that are not finite. */
export async function clearFields(
  session: Session,
  table: TableSchema,
  staged: string,
  columns: StagedColumns,
  rejects: Rejects,
): Promise<void> {
  const names = [...columns].filter(([, type]) => type === "DOUBLE").map(([name]) => name);
  if (names.length === 0) return;
  const counts = names.map((name, i) => `count(*) FILTER (${unstatedSql(name, false)})::DOUBLE AS n${i}`);
  const [found] = await session.json<Record<string, number>>(
    `SELECT ${counts.join(", ")} FROM ${ident(staged)}`,
  );
  for (const [i, name] of names.entries())
    if (found?.[`n${i}`] !== 0)
      await rejects.add(
        table.name,
        `SELECT source, min(line) AS line, first(symbol ORDER BY line, symbol) AS symbol, NULL AS timestamp, 'out_of_range' AS rule,
           ${literal(`${name} of `)} || count(*) || ' statements is not a finite number; it became null' AS reason, 0 AS bars, NULL AS row
         FROM ${ident(staged)} WHERE ${unstatedSql(name, false)} GROUP BY source`,
      );
}

/** The SQL of a value in which a number that is not finite is null. */
function finiteSql(value: string): string {
  return `CASE WHEN isfinite(${value}) THEN ${value} END`;
}

/** A SELECT of a staged table's rows in which numbers that are not finite are null. */
export function finiteRows(staged: string, columns: StagedColumns): string {
  const doubles = [...columns].filter(([, type]) => type === "DOUBLE");
  if (doubles.length === 0) return `SELECT * FROM ${ident(staged)}`;
  const values = doubles.map(([name]) => `${finiteSql(ident(name))} AS ${ident(name)}`);
  return `SELECT * REPLACE (${values.join(", ")}) FROM ${ident(staged)}`;
}

function unstatedSql(name: string, isPrice = name === PREVIOUS_CLOSE): string {
  const column = ident(name);
  const isStated = isPrice ? `isfinite(${column}) AND ${column} > 0` : `isfinite(${column})`;
  // Of a null, the condition is null.
  return `NOT (${isStated})`;
}

function reasonSql(name: string, bars: string): string {
  return `${literal(`${name} of `)} || ${bars} || ${literal(` bars ${noValue(name)}`)}`;
}

/** Most rows in one JSON text, to limit its length for a large snapshot. */
const ROWS_A_STATEMENT = 2000;

/**
 * Puts row-like values (instruments, statements, requests; not bars) into a new temporary table.
 *
 * Each object has values by column name: numbers, strings, booleans, arrays of strings; a timestamp as epoch
 * milliseconds, a date as `YYYY-MM-DD`. A missing value becomes null, as does
 * a number that is not finite.
 */
export async function stageObjects(
  session: Session,
  name: string,
  columns: readonly Column[],
  rows: readonly Readonly<Record<string, unknown>>[],
): Promise<void> {
  const ddl = columns.map((c) => `${ident(c.name)} ${DUCKDB_TYPE[c.type]}`);
  await session.run(`CREATE OR REPLACE TEMP TABLE ${ident(name)} (${ddl.join(", ")})`);
  const structure = Object.fromEntries(columns.map((c) => [c.name, jsonType(c)]));
  const select = columns.map((c) => {
    const field = `r.${ident(c.name)}`;
    if (c.type === "timestamp") return `make_timestamptz(${field} * 1000)`;
    return c.type === "double" ? finiteSql(field) : field;
  });
  const names = columns.map((c) => c.name);
  for (let start = 0; start < rows.length; start += ROWS_A_STATEMENT) {
    const text = jsonParameter(rows.slice(start, start + ROWS_A_STATEMENT), names);
    await session.run(
      `INSERT INTO ${ident(name)} SELECT ${select.join(", ")}
       FROM (SELECT unnest(from_json($1, ${literal(JSON.stringify([structure]))})) AS r)`,
      [text],
    );
  }
}

function jsonType(column: Column): unknown {
  if (column.type === "timestamp") return "BIGINT";
  return column.type === "string[]" ? ["VARCHAR"] : DUCKDB_TYPE[column.type];
}
