import { ident, literal } from "../../db/quote.js";
import { jsonParameter } from "../../db/session/json-parameter.js";
import type { Session } from "../../db/session/session.js";
import { type Column, DUCKDB_TYPE } from "../../schema/column.js";
import { finiteSql } from "./clear-values.js";

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
