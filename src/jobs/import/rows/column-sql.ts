import { DAY_MS } from "../../../core/time.js";
import { type DecimalMark, numberSql } from "./number-sql.js";
import type { SourceColumn } from "./raw-rows.js";

const NUMBER_TYPE = /^(?:TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|U[A-Z]+INT|FLOAT|DOUBLE|DECIMAL.*)$/;

/** Whether a column has numbers already, and no texts. */
export function isReadDirectly({ type }: SourceColumn): boolean {
  return NUMBER_TYPE.test(type);
}

/** SQL of the number of a column; null for what is none. */
export function numberExpression(column: SourceColumn, mark: DecimalMark): string {
  const { sql } = column;
  if (!isReadDirectly(column)) return numberSql(`CAST(${sql} AS VARCHAR)`, mark);
  return `CASE WHEN isfinite(CAST(${sql} AS DOUBLE)) THEN CAST(${sql} AS DOUBLE) END`;
}

/** SQL of the text of a column; null where it is empty. */
export function textExpression({ sql, type }: SourceColumn): string {
  return type === "VARCHAR" ? `nullif(trim(${sql}), '')` : `CAST(${sql} AS VARCHAR)`;
}

/** SQL of a time: as a date, a wall clock, an instant in epoch milliseconds, or else as a text to be read. */
export interface TimeExpressions {
  readonly day: string;
  readonly wall: string;
  readonly at: string;
  readonly text: string;
}

const NO_DAY = "NULL::DATE";
const NO_WALL = "NULL::TIMESTAMP";
const NO_AT = "NULL::BIGINT";

/**
 * SQL of the times of a column. Texts in the two forms of ISO 8601 without an offset are read by DuckDB, millions a second;
 * all others are read once for each different text.
 *
 * @param clock a column with the time of day.
 * @param isMinute whether most instants differ, so that epoch milliseconds are not read as texts.
 * @param hasFormat whether the user named a format: then nothing is read directly.
 */
export function timeExpressions(
  column: SourceColumn,
  clock: SourceColumn | undefined,
  isMinute: boolean,
  hasFormat: boolean,
): TimeExpressions {
  const { sql, type } = column;
  const none = { day: NO_DAY, wall: NO_WALL, at: NO_AT };
  const text = textExpression(column);
  if (clock !== undefined)
    return { ...none, text: `${text} || coalesce(' ' || ${textExpression(clock)}, '')` };
  if (hasFormat && (type === "VARCHAR" || isReadDirectly(column))) return { ...none, text };
  if (type === "DATE") return { ...none, day: sql, text };
  if (type === "TIMESTAMP WITH TIME ZONE") {
    const ms = `epoch_ms(${sql})`;
    return isMinute ? { ...none, at: ms, text } : { ...none, text: epochText(ms) };
  }
  if (type.startsWith("TIMESTAMP")) {
    const wall = `CAST(${sql} AS TIMESTAMP)`;
    return { ...none, wall, text };
  }
  const day = `CASE WHEN ${sql} LIKE '____-__-__' THEN TRY_CAST(${sql} AS DATE) END`;
  const wall = `CASE WHEN ${sql} LIKE '____-__-__ __:__:__' OR ${sql} LIKE '____-__-__T__:__:__' THEN TRY_CAST(${sql} AS TIMESTAMP) END`;
  const at = `CASE WHEN ${sql} LIKE '1____________' THEN TRY_CAST(${sql} AS BIGINT) END`;
  if (type === "VARCHAR") return { day, wall, at: isMinute ? at : NO_AT, text };
  if (type === "BIGINT" && isMinute)
    return {
      ...none,
      at: `CASE WHEN ${sql} BETWEEN ${DAY_MS * 3650} AND ${DAY_MS * 84_000} THEN ${sql} END`,
      text,
    };
  return { ...none, text };
}

/** An instant as a text that is read as epoch milliseconds, whatever its number of digits. */
function epochText(ms: string): string {
  return `strftime(make_timestamp(${ms} * 1000), '%Y-%m-%dT%H:%M:%S.%gZ')`;
}
